"""Without sockets in the file system: a port on 127.0.0.1 and a shared secret."""

import socket
import threading

from served import until

from capdisc.serve import claim, protocol

QUERY = ("search", "put two PDF files into one", "--ids")


def _served(serving):
    served = serving("serve", "--loopback")
    assert until(lambda: "answering at" in served.text)
    return served


def test_it_answers_the_same_and_leaves_nothing(small, serving, client) -> None:
    served = _served(serving)
    path = served.path.with_suffix(".port")
    assert path.stat().st_mode & 0o777 == 0o600
    for words in (QUERY, ("show", "nobody"), ("list", "--json")):
        assert client(*words, "--server", "require") == client(*words, "--server", "off")
    piped = ("search", "-", "--ids")
    assert client(*piped, "--server", "require", stdin=QUERY[1]) == client(
        *piped, "--server", "off", stdin=QUERY[1]
    )
    served.end()
    assert not path.exists()


def test_who_does_not_know_the_secret_is_not_answered(small, serving, client) -> None:
    served = _served(serving)
    port, secret = claim.read_port_file(str(served.path.with_suffix(".port")))
    parts, nonce = [*protocol.encode_request(QUERY), protocol.READ], b"n" * 32
    for mine, answered in ((b"another", False), (secret, True)):
        with socket.create_connection(("127.0.0.1", port), 60) as one:
            one.sendall(protocol.encode_parts([nonce]))
            assert one.recv(32) == claim.sign_nonce(secret, b"server", nonce)
            one.sendall(protocol.encode_parts([*parts, claim.sign_nonce(mine, b"client", nonce)]))
            assert bool(one.recv(1)) is answered


def test_another_at_its_port_learns_nothing(small, serving, client, capdisc) -> None:
    with socket.socket() as impostor:
        impostor.bind(("127.0.0.1", 0))
        impostor.listen()
        path = protocol.own_socket_path().with_suffix(".port")
        path.parent.mkdir(mode=0o700)
        path.write_text(f"{impostor.getsockname()[1]} {'0' * 64}")
        heard: list[bytes] = []
        thread = threading.Thread(target=_listen, args=(impostor, heard))
        thread.start()
        code, _, err = client(*QUERY, "--server", "require")
        thread.join()
    assert (code, "another program answers" in err) == (75, True)
    assert len(b"".join(heard)) == 4 + 4 + claim.NONCE_BYTES
    assert _served(serving)  # which replaces what was left


def _listen(impostor: socket.socket, heard: list[bytes]) -> None:
    one, _ = impostor.accept()
    with one:
        heard.append(one.recv(1 << 16))
        one.sendall(b"x" * 32)
        heard.append(one.recv(1 << 16))
