"""Compares JSON values with the models of Oracle's client: their members, types, values and which are required."""

import datetime
import functools
import inspect
import re

SCALARS = {"str": str, "int": int, "bool": bool}


class Model:
    """The members of a model, by their names in JSON."""

    def __init__(self, kind):
        each = kind()
        self.members = {name: (key, each.swagger_types[key]) for key, name in each.attribute_map.items()}
        self.required = set()
        self.allowed = {}
        source = inspect.getsource(kind)
        for key, name in each.attribute_map.items():
            member = getattr(kind, key)
            if "**[Required]**" in (member.__doc__ or ""):
                self.required.add(name)
            values = re.search(r"Allowed values for this property are: ([^\n]*)", member.__doc__ or "")
            if values is not None:
                self.allowed[name] = re.findall(r'"([^"]+)"', values[1])


@functools.cache
def read_model(kind):
    return Model(kind)


def check(value, expected, models, at, is_request):
    """Returns how a value differs from a type such as `str`, `list[X]`, `dict(str, X)` or a model's name."""
    if match := re.fullmatch(r"list\[(.*)\]", expected):
        if not isinstance(value, list):
            return [f"{at}: {describe(value)} in place of a list"]
        return [message for each in value for message in check(each, match[1], models, f"{at}[]", is_request)]
    if match := re.fullmatch(r"dict\(str, (.*)\)", expected):
        if not isinstance(value, dict):
            return [f"{at}: {describe(value)} in place of an object"]
        return [message for each in value.values() for message in check(each, match[1], models, f"{at}{{}}", is_request)]
    if expected == "object":
        return []
    if expected in SCALARS:
        is_right = isinstance(value, SCALARS[expected]) and (expected == "bool" or not isinstance(value, bool))
        return [] if is_right else [f"{at}: {describe(value)} in place of {expected}"]
    if expected == "float":
        return [] if isinstance(value, (int, float)) and not isinstance(value, bool) else [f"{at}: no number"]
    if expected == "datetime":
        return [] if is_time(value) else [f"{at}: no time"]
    return check_model(value, find_model(value, expected, models), models, at, is_request)


def find_model(value, name, models):
    """Returns the class of a model, of its subtype if it has some."""
    kind = getattr(models, name)
    if isinstance(value, dict) and hasattr(kind, "get_subtype"):
        try:
            return getattr(models, kind.get_subtype(value))
        except KeyError:
            return kind
    return kind


def check_model(value, kind, models, at, is_request):
    if not isinstance(value, dict):
        return [f"{at}: {describe(value)} in place of {kind.__name__}"]
    model = read_model(kind)
    messages = [f"{at}.{name}: missing, required in {kind.__name__}" for name in sorted(model.required - set(value))]
    for name, member in value.items():
        if name not in model.members:
            messages.append(f"{at}.{name}: unknown to {kind.__name__}")
            continue
        if member is None:
            # A service writes null for what is not set; a request has no reason to.
            if is_request or name in model.required:
                messages.append(f"{at}.{name}: null")
            continue
        allowed = model.allowed.get(name)
        values = member if isinstance(member, list) else [member]
        messages += [
            f"{at}.{name}: {each} is not among {', '.join(allowed)}"
            for each in values
            if allowed and isinstance(each, str) and each not in allowed
        ]
        messages += check(member, model.members[name][1], models, f"{at}.{name}", is_request)
    return messages


def is_time(value):
    try:
        return isinstance(value, str) and datetime.datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def describe(value):
    if value is None:
        return "null"
    return {bool: "a boolean", str: "a text", int: "a number", float: "a number", list: "a list"}.get(type(value), "an object")
