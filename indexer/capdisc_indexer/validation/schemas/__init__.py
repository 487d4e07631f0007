"""The JSON Schemas of the manifests, for editors: printed by `capdisc validate --schema`."""
