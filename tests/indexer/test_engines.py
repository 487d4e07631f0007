"""Lazily imported libraries come whole, even while another thread imports them."""

import sys
import threading
import time

from capdisc_indexer import lazy_imports

_SLOW = """
import time

for _ in range(400):
    if "released" in globals():
        break
    time.sleep(0.01)
whole = True
"""


def test_arrays_are_at_hand_once_another_thread_has_imported_all_of_them(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "numpy.py").write_text(_SLOW)
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    other = threading.Thread(target=lazy_imports.numpy)
    other.start()
    while "numpy" not in sys.modules:
        time.sleep(0.001)
    threading.Timer(0.05, setattr, (sys.modules["numpy"], "released", True)).start()
    try:
        assert lazy_imports.numpy_if_loaded().whole
    finally:
        other.join()
        del sys.modules["numpy"]


def test_arrays_that_nobody_imported_are_not_at_hand(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    assert lazy_imports.numpy_if_loaded() is None
    assert "numpy" not in sys.modules
