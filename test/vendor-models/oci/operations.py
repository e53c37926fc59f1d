"""The operations of Oracle's client, read from the source of its methods: path, parameters, body and answer."""

import ast
import functools
import inspect
import re
import textwrap

import oci.core
import oci.load_balancer
import oci.network_load_balancer
from oci.core import models as core_models
from oci.load_balancer import models as lb_models
from oci.network_load_balancer import models as nlb_models

# The services by the first part of their paths; two share one.
CLIENTS = {
    "/20160918": ((oci.core.ComputeClient, core_models), (oci.core.VirtualNetworkClient, core_models)),
    "/20170115": ((oci.load_balancer.LoadBalancerClient, lb_models),),
    "/20200501": ((oci.network_load_balancer.NetworkLoadBalancerClient, nlb_models),),
}


class Operation:
    """One operation of the client."""

    def __init__(self, method, path, models):
        self.method = method
        self.path = path
        self.models = models
        self.queries = {}
        self.required = set()
        self.headers = set()
        self.body = None
        self.answer = None
        parts = re.split(r"({\w+})", path)
        self.pattern = re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts))

    @property
    def name(self):
        return f"{self.method} {self.path}"


@functools.cache
def list_operations(base):
    """Returns the operations below a base path."""
    return [
        operation
        for client, models in CLIENTS[base]
        for name, function in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_") and (operation := read_operation(function, models)) is not None
    ]


def read_operation(function, models):
    """Reads an operation from the source of a method of the client; None if the method sends no request."""
    source = inspect.getsource(function)
    if "resource_path = " not in source:
        return None
    definition = ast.parse(textwrap.dedent(source)).body[0]
    constants, dictionaries, calls, allowed = {}, {}, [], {}
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(node.value, ast.Constant):
                constants[name] = node.value.value
            elif isinstance(node.value, ast.Dict):
                dictionaries[name] = node.value
            elif isinstance(node.value, ast.List) and name.endswith("_allowed_values"):
                allowed[name.removesuffix("_allowed_values")] = ast.literal_eval(node.value)
        elif isinstance(node, ast.Call):
            calls.append(node)
    operation = Operation(constants["method"], constants["resource_path"], models)
    for key, value in zip(*keys_and_values(dictionaries.get("query_params"))):
        argument = find_argument(value)
        operation.queries[key] = allowed.get(argument)
        if isinstance(value, ast.Name):
            operation.required.add(key)
    for key, _ in zip(*keys_and_values(dictionaries.get("header_params"))):
        operation.headers.add(key)
    types = {argument: name for name, argument in re.findall(r":param oci\.\w+\.models\.(\w+) (\w+):", function.__doc__)}
    for call in calls:
        for keyword in call.keywords:
            if keyword.arg == "response_type":
                operation.answer = keyword.value.value
            elif keyword.arg == "body":
                operation.body = types[find_argument(keyword.value)]
    return operation


def keys_and_values(dictionary):
    if dictionary is None:
        return [], []
    return [key.value for key in dictionary.keys], dictionary.values


def find_argument(node):
    """Returns the name of the argument that a value comes from: `name`, or `kwargs.get("name", missing)`."""
    if isinstance(node, ast.Name):
        return node.id
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and getattr(each.func, "attr", "") == "get" and each.args:
            return each.args[0].value
    return None


def find_operation(base, method, path):
    """Returns the operation of a request, the one with the most literal path; None if the client has none."""
    found = [
        each for each in list_operations(base) if each.method == method and each.pattern.fullmatch(path)
    ]
    return min(found, key=lambda each: each.path.count("{"), default=None)
