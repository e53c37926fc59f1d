"""Judges exchanges with Keystone, Nova and Neutron by the services' own schemas, and reads emulated ones with
OpenStack's own client.

    python main.py judge < EXCHANGES
    python main.py read AUTH-URL REGION CREDENTIAL-ID SECRET TAG PROJECT
"""

import pathlib
import sys
import urllib.parse
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
# Libraries of the services warn about each other.
warnings.simplefilter("ignore")


def judge_exchange(exchange):
    """Returns the operation and what is wrong with its request and answer."""
    import compute
    import identity
    import networking

    url = urllib.parse.urlsplit(exchange["target"])
    query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
    for prefix, service in (
        ("/identity/v3", identity),
        ("/compute/v2.1", compute),
        ("/network/v2.0", networking),
    ):
        if url.path.startswith(prefix + "/"):
            return service.judge(exchange, exchange["method"], url.path.removeprefix(prefix), query)
    return f"{exchange['method']} {url.path}", ["request: no service has this path"]


if __name__ == "__main__":
    if sys.argv[1:] == ["judge"]:
        import verdict

        verdict.judge_lines(judge_exchange)
    elif sys.argv[1:2] == ["read"] and len(sys.argv) == 8:
        import read

        read.read_cloud(*sys.argv[2:])
    else:
        sys.exit(__doc__)
