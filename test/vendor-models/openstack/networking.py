"""Neutron's attribute maps: which attributes ports and networks have, filter and sort by, and their values."""

import importlib
import pkgutil

import webob.exc
from neutron_lib import exceptions
from neutron_lib.api import definitions, validators
from neutron_lib.api.definitions import network, port
from oslo_policy import policy

import identity
from verdict import parse_json

# Beside filters, Neutron's lists take these.
OF_LISTS = ("fields", "limit", "marker", "sort_key", "sort_dir", "page_reverse")
# The members that every Neutron writes: those of the core definitions and of the project's id.
CORE = {"ports": port, "networks": network}


def load_attributes(collection):
    """Returns the attributes of a collection from the core and all extensions that neutron-lib defines."""
    attributes = {}
    for module in pkgutil.iter_modules(definitions.__path__):
        definition = importlib.import_module(f"{definitions.__name__}.{module.name}")
        resources = getattr(definition, "RESOURCE_ATTRIBUTE_MAP", {})
        for name, attribute in resources.get(collection, {}).items():
            attributes.setdefault(name, attribute)
    # Every resource of a project has its id under both names.
    attributes["project_id"] = attributes["tenant_id"]
    return attributes


ATTRIBUTES = {collection: load_attributes(collection) for collection in CORE}


def judge(exchange, method, path, query):
    collection = path.removeprefix("/")
    if method != "GET" or collection not in ATTRIBUTES:
        return f"{method} /v2.0{path}", ["request: judged are the lists of ports and networks"]
    operation = f"GET /v2.0/{collection}"
    attributes = ATTRIBUTES[collection]
    messages = check_query(query, attributes)
    status = exchange["status"]
    if status == 0:
        return operation, messages
    body, fault = parse_json(exchange["answerBody"])
    if fault is not None:
        return operation, [*messages, f"answer: {fault}"]
    if status >= 400:
        return operation, messages + (identity.check_error(status, body) if status == 401 else check_error(body))
    if not isinstance(body, dict) or not isinstance(body.get(collection), list):
        return operation, [*messages, f"answer: no list {collection}"]
    links = f"{collection}_links"
    messages += [f"answer.{key}: unknown" for key in body if key not in (collection, links)]
    for link in body.get(links, []):
        if set(link) != {"rel", "href"} or link["rel"] not in ("next", "previous"):
            messages.append(f"answer.{links}[]: {link}")
    wanted = query.get("fields")
    for each in body[collection]:
        messages += check_resource(each, collection, attributes, wanted)
    return operation, sorted(set(messages))


def check_query(query, attributes):
    messages = []
    for name, values in query.items():
        if name == "sort_key":
            messages += [f"request: sort_key {each}" for each in values if not is_true(attributes, each, "is_sort_key")]
        elif name == "fields":
            messages += [f"request: fields {each}" for each in values if not is_true(attributes, each, "is_visible")]
        elif name == "sort_dir":
            messages += [f"request: sort_dir {each}" for each in values if each not in ("asc", "desc")]
        elif name == "limit":
            messages += [f"request: limit {each}" for each in values if not each.isdigit()]
        elif name not in OF_LISTS and not is_true(attributes, name, "is_filter"):
            messages.append(f"request: {name} is no filter")
    if len(query.get("sort_key", [])) != len(query.get("sort_dir", [])):
        messages.append("request: Neutron wants as many sort_dir as sort_key")
    return messages


def is_true(attributes, name, key):
    return attributes.get(name, {}).get(key, False)


def check_resource(each, collection, attributes, wanted):
    at = f"answer.{collection}[]"
    messages = []
    for name, value in each.items():
        attribute = attributes.get(name)
        if attribute is None or not attribute.get("is_visible"):
            messages.append(f"{at}.{name}: no visible attribute")
            continue
        for kind, argument in attribute.get("validate", {}).items():
            if validators.get_validator(kind)(value, argument):
                messages.append(f"{at}.{name}: invalid by {kind}")
    expected = set(wanted) if wanted is not None else {*core_names(collection)}
    messages += [f"{at}.{name}: missing" for name in sorted(expected - set(each))]
    if wanted is not None:
        messages += [f"{at}.{name}: not among the fields of the request" for name in sorted(set(each) - expected)]
    return messages


def core_names(collection):
    core = CORE[collection].RESOURCE_ATTRIBUTE_MAP[collection]
    return [*(name for name, attribute in core.items() if attribute.get("is_visible")), "project_id"]


def check_error(body):
    """Compares an error with the body that Neutron writes: the name of its exception, a message and a detail."""
    error = body.get("NeutronError") if isinstance(body, dict) else None
    if not isinstance(error, dict) or set(error) != {"type", "message", "detail"}:
        return ["error: no NeutronError of type, message and detail"]
    if error["type"] in EXCEPTIONS:
        return []
    return [f"error.NeutronError.type: neither Neutron nor webob has {error['type']}"]


def list_subclasses(kind):
    return {kind.__name__}.union(*(list_subclasses(each) for each in kind.__subclasses__()))


for each in pkgutil.iter_modules(exceptions.__path__):
    importlib.import_module(f"{exceptions.__name__}.{each.name}")
EXCEPTIONS = (
    list_subclasses(exceptions.NeutronException)
    | list_subclasses(webob.exc.HTTPException)
    | {policy.PolicyNotAuthorized.__name__}
)
