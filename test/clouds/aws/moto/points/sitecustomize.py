# Python reads this before moto_server, whose folder is told by PYTHONPATH. Moto cannot be set back to what it was: here a process of it
# stays behind at a point while a child goes on, and goes on itself when the child has ended. One thread serves all, as only that survives
# a fork; and what moto finds out anew for each request is found out once.

import functools
import gc
import io
import os

import moto.backends
import moto.core.responses
from moto.ec2.exceptions import RulesPerSecurityGroupLimitExceededError
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.moto_api._internal import mock_random
from werkzeug import serving

MODULES = list(moto.backends.list_of_moto_modules())
moto.backends.list_of_moto_modules = lambda: MODULES
moto.core.responses.method_names_from_class = functools.cache(
    moto.core.responses.method_names_from_class
)
serving.WSGIRequestHandler.log_request = lambda *_, **__: None
run_simple = serving.run_simple


requests = 0


# The same after the same changes, whatever was read between them: ids are made of the requests that make them.
def seed(environ):
    global requests
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    if b"Action=Describe" not in body:
        requests += 1
        mock_random.seed(f"{requests} {body!r}")


def with_points(application):
    def answer(environ, start_response):
        path = environ.get("PATH_INFO")
        if path == "/points/leave":
            os._exit(0)
        if path != "/points/enter":
            seed(environ)
            return application(environ, start_response)
        gc.freeze()
        child = os.fork()
        if child != 0:
            # The child has answered; an answer here after its end is not read.
            os.waitpid(child, 0)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    return answer


def run(host, port, application, **options):
    options["threaded"] = False
    return run_simple(host, port, with_points(application), **options)


serving.run_simple = run

# Of the rules of a security group moto allows as many as AWS does to whoever has not asked for more, and there is no setting for it: in an
# account that was given more that check knows another number.
MOST_RULES = int(os.environ.get("RULES_PER_SECURITY_GROUP", "0"))


def verify(self, group, current_rule_nb, ip_ranges, source_groups=None, egress=False):
    if current_rule_nb + len(ip_ranges or []) + len(source_groups or []) > MOST_RULES:
        raise RulesPerSecurityGroupLimitExceededError


if MOST_RULES > 0:
    # A moto that has renamed it would keep to its own number without a word.
    assert hasattr(SecurityGroupBackend, "_verify_group_will_respect_rule_count_limit")
    SecurityGroupBackend._verify_group_will_respect_rule_count_limit = verify
