"""Nova's schemas: those with which its API validates its own requests and answers."""

import re

from nova.api.openstack import wsgi
from nova.api.openstack.compute.schemas import servers
from nova.api.validation import validators

import identity
from verdict import parse_json

MICROVERSION = "x-openstack-nova-api-version"
UUID = re.compile(r"^/servers/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def judge(exchange, method, path, query):
    if method == "GET" and path == "/servers/detail":
        operation, name, query_name = "GET /servers/detail", "detail_response", "index_query"
    elif method == "GET" and UUID.match(path):
        operation, name, query_name = "GET /servers/{id}", "show_response", "show_query"
    else:
        return f"{method} {path}", ["request: Nova has no such method and path"]
    version = exchange["requestHeaders"].get(MICROVERSION, "2.1")
    major, _, minor = version.partition(".")
    if major != "2" or not minor.isdigit():
        return operation, [f"request: {MICROVERSION} {version}"]
    schema = find_schema(query_name, int(minor))
    messages = [f"request: unknown query {key}" for key in query if key not in schema["properties"]]
    messages += [f"request: {message}" for message in find_errors(schema, query, "query", is_body=False)]
    status = exchange["status"]
    if status == 0:
        return operation, messages
    body, fault = parse_json(exchange["answerBody"])
    if fault is not None:
        return operation, [*messages, f"answer: {fault}"]
    if status == 401:
        # Keystone's middleware answers before Nova.
        return operation, messages + identity.check_error(status, body)
    if status >= 400:
        return operation, messages + check_fault(status, body)
    return operation, messages + find_errors(find_schema(name, int(minor)), body, "answer")


def find_schema(name, minor):
    """Returns the newest schema of this name up to a microversion: `name`, or `name_v2MINOR`."""
    found = getattr(servers, name)
    versions = {
        int(match[1]): schema
        for key, schema in vars(servers).items()
        if (match := re.fullmatch(f"{name}_v2(\\d+)", key)) is not None
    }
    for version in sorted(versions):
        if version <= minor:
            found = versions[version]
    return found


def find_errors(schema, value, at, is_body=True):
    """Returns the errors of Nova's own validator, with the place of each."""
    validator = validators._SchemaValidator(schema, False, is_body).validator
    return sorted({describe(error, at) for error in validator.iter_errors(value)})


def describe(error, at):
    place = "".join("[]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    # The message quotes whole objects.
    if error.validator in ("oneOf", "anyOf", "type", "format", "enum"):
        detail = f"{shorten(error.instance)} breaks {error.validator}"
    else:
        detail = shorten(error.message)
    return f"{at}{place}: {detail}"


def shorten(value):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else f"{text[:60]} … {text[-60:]}"


def check_fault(status, body):
    """Compares an error with the body that Nova's Fault writes."""
    name = wsgi.Fault._fault_names.get(status, "computeFault")
    if not isinstance(body, dict) or list(body) != [name]:
        return [f"error: {shorten(body)} in place of {name}, Nova's name of {status}"]
    fault = body[name]
    known = {"code": int, "message": str, **({"retryAfter": str} if status in (413, 429) else {})}
    messages = [f"error.{name}.{key}: unknown" for key in fault if key not in known]
    messages += [
        f"error.{name}.{key}: missing or no {known[key].__name__}"
        for key in ("code", "message")
        if not isinstance(fault.get(key), known[key])
    ]
    if fault.get("code") != status:
        messages.append(f"error.{name}.code: {fault.get('code')} with status {status}")
    return messages
