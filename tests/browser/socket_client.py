"""A WebSocket client of a few lines, which can also do what a browser never would."""
import base64
import os
import re
import socket
import struct
import urllib.parse


def request(port, text, limit=10):
    """Sends bytes as they are; returns (status, head, body), status 0 when the server closed without an answer."""
    s = socket.create_connection(("127.0.0.1", port), timeout=limit)
    try:
        s.sendall(text if isinstance(text, bytes) else text.encode())
        data = b""
        while True:
            part = s.recv(65536)
            if not part:
                break
            data += part
    except (ConnectionResetError, BrokenPipeError, socket.timeout):
        pass
    finally:
        s.close()
    head, _, body = data.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.[01] (\d+)", head)
    return int(match.group(1)) if match else 0, head.decode("latin1"), body


def session(url):
    """The cookie that the page gets for the token of the address."""
    parts = urllib.parse.urlsplit(url)
    code, head, _ = request(parts.port, f"GET /?{parts.query} HTTP/1.1\r\nHost: 127.0.0.1:{parts.port}\r\n\r\n")
    assert code == 200, head
    return parts.port, re.search(r"Set-Cookie: (repose-\d+=\w+)", head).group(1)


class WebSocket:
    def __init__(self, url, run=0, receive_buffer=None, limit=20):
        self.port, self.cookie = session(url)
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(limit)
        self.socket.connect(("127.0.0.1", self.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /socket?run={run} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
                             f"Cookie: {self.cookie}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Protocol: repose.1\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(1)
            if not part:
                break
            head += part
        self.status = int(head.split(b" ")[1]) if head else 0
        if self.status != 101:
            raise ConnectionError(f"no socket: {head.decode('latin1')}")

    def send(self, payload, opcode=1, final=True, masked=True, length=None):
        data = payload if isinstance(payload, bytes) else payload.encode()
        size = len(data) if length is None else length
        head = bytes([(0x80 if final else 0) | opcode])
        flag = 0x80 if masked else 0
        if size < 126:
            head += bytes([flag | size])
        elif size < 65536:
            head += bytes([flag | 126]) + struct.pack(">H", size)
        else:
            head += bytes([flag | 127]) + struct.pack(">Q", size)
        if masked:
            mask = os.urandom(4)
            head += mask
            data = bytes(b ^ mask[k & 3] for k, b in enumerate(data))
        self.socket.sendall(head + data)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(min(1 << 20, size - len(data)))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data

    def receive(self):
        """(opcode, payload) of the next message; (8, b"") when the server has closed."""
        try:
            first, size = self.exactly(2)
            if size == 126:
                size = struct.unpack(">H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.exactly(8))[0]
            return first & 15, self.exactly(size)
        except (ConnectionError, OSError):
            return 8, b""

    def until(self, opcode, test=lambda payload: True, limit=200):
        for _ in range(limit):
            got, payload = self.receive()
            if got == 8:
                raise ConnectionError("closed")
            if got == opcode and test(payload):
                return payload
        raise RuntimeError("what was waited for never came")

    def close(self):
        self.socket.close()
