"""SipHash-2-4 in plain numbers, after Aumasson and Bernstein (2012)."""

from __future__ import annotations

WORD = 2**64


def siphash(key, message):
    """The 64-bit hash of bytes under a key of 16 bytes."""
    first, second = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        v = sip_round(sip_round(v))
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        v = sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def sip_round(v):
    v0, v1, v2, v3 = v
    v0, v2 = (v0 + v1) % WORD, (v2 + v3) % WORD
    v1, v3 = rotated(v1, 13) ^ v0, rotated(v3, 16) ^ v2
    v0 = rotated(v0, 32)
    v2, v0 = (v2 + v1) % WORD, (v0 + v3) % WORD
    v1, v3 = rotated(v1, 17) ^ v2, rotated(v3, 21) ^ v0
    return [v0, v1, rotated(v2, 32), v3]


def rotated(number, bits):
    return (number << bits | number >> (64 - bits)) % WORD
