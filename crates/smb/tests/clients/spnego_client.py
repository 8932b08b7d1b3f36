"""Makes the tokens of a logon with pyspnego: PROTOCOL USER PASSWORD. Tokens go out and come in as lines of hexadecimal digits; the last line out is the key."""

import sys

import spnego

protocol, user, password = sys.argv[1:]
options = spnego.NegotiateOptions.use_ntlm
client = spnego.client(user, password, hostname="lazuli", service="cifs", protocol=protocol, options=options)
token = client.step()
while token is not None:
    print(token.hex(), flush=True)
    if client.complete:
        sys.stdin.readline()
        break
    token = client.step(bytes.fromhex(sys.stdin.readline().strip()))
print("key", client.session_key.hex(), flush=True)
