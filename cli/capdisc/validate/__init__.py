"""From typed options and settings to a check, its findings in every format, and its fixes."""
