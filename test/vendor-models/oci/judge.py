"""Compares requests and answers with the operations and models of Oracle's client."""

import urllib.parse

import models
import operations
from verdict import parse_json

# Headers with a meaning for the services; the recorder keeps only these.
MEANINGFUL = ("if-match", "opc-retry-token")


def judge_exchange(exchange):
    """Returns the operation and what is wrong with its request and answer."""
    url = urllib.parse.urlsplit(exchange["target"])
    base = next((each for each in operations.CLIENTS if url.path.startswith(each + "/")), None)
    if base is None:
        return f"{exchange['method']} {url.path}", ["request: no service has this path"]
    operation = operations.find_operation(base, exchange["method"], url.path.removeprefix(base))
    if operation is None:
        return f"{exchange['method']} {url.path}", ["request: Oracle's client has no such method and path"]
    query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
    messages = check_query(operation, query) + check_headers(operation, exchange) + check_body(operation, exchange)
    if exchange["status"] != 0:
        messages += check_answer(operation, exchange)
    return f"{base} {operation.name}", sorted(set(messages))


def check_query(operation, query):
    messages = [f"request: unknown query {name}" for name in query if name not in operation.queries]
    messages += [f"request: query {name} is missing" for name in operation.required - set(query)]
    for name, values in query.items():
        allowed = operation.queries.get(name)
        if allowed is not None and not set(values) <= set(allowed):
            messages.append(f"request: query {name}={values[0]} is not among {', '.join(allowed)}")
        if name == "limit" and not values[0].isdigit():
            messages.append(f"request: query limit={values[0]}")
    return messages


def check_headers(operation, exchange):
    return [
        f"request: unknown header {name}"
        for name in MEANINGFUL
        if name in exchange["requestHeaders"] and name not in operation.headers
    ]


def check_body(operation, exchange):
    text = exchange["requestBody"]
    if operation.body is None:
        return ["request: a body that the operation does not have"] if text else []
    body, fault = parse_json(text)
    if fault is not None:
        return [f"request: {fault}"]
    return models.check(body, operation.body, operation.models, "request", is_request=True)


def check_answer(operation, exchange):
    status, text = exchange["status"], exchange["answerBody"]
    body, fault = parse_json(text) if text else (None, None)
    if fault is not None:
        return [f"answer: {fault}"]
    if status >= 400:
        return check_error(body)
    if operation.answer is None:
        return ["answer: a body that the operation does not have"] if text else []
    return models.check(body, operation.answer, operation.models, "answer", is_request=False)


def check_error(body):
    """The client makes an error of the members code and message, and keeps the others as they are."""
    if not isinstance(body, dict):
        return ["error: no object"]
    return [f"error.{name}: missing or no text" for name in ("code", "message") if not isinstance(body.get(name), str)]
