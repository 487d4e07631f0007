"""A certificate must fit the name in the URL and come from a trusted authority."""

import shutil
import ssl
import subprocess
from contextlib import suppress

import pytest
from hosts import answer, world

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import replace
from capdisc_run.connection import start_tls
from capdisc_run.download import FetchOptions, fetch_document

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs the openssl program")


@pytest.fixture
def certificate(tmp_path):
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout {key} -out {chain}"
    words += " -subj /CN=docs.example.com -addext subjectAltName=DNS:docs.example.com"
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    return key, chain


@pytest.fixture
def tls_world(certificate):
    """A world whose server speaks TLS with the certificate."""
    key, chain = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with world({"/start": answer(b"secret")}) as here:
        plain = here._answer

        def answered(connection):
            with suppress(OSError):
                plain(context.wrap_socket(connection, server_side=True))

        here._answer = answered
        yield here


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_world) -> None:
    with pytest.raises(LinkRefusedError, match=r"self.signed certificate"):
        fetch_document(
            "https://docs.example.com/start",
            FetchOptions(),
            replace(tls_world.network, secure=start_tls),
        )
    assert tls_world.heads == []


def test_a_trusted_certificate_is_good_for_its_own_name_only(
    tls_world, certificate, monkeypatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    network = replace(tls_world.network, secure=start_tls)
    assert (
        fetch_document("https://docs.example.com/start", FetchOptions(), network).text == "secret"
    )
    with pytest.raises(LinkRefusedError, match="Hostname mismatch"):
        fetch_document("https://other.example.com/start", FetchOptions(), network)
