"""Keystone: its schema of a sign-in, the body that its own client sends, and the token that it renders."""

import http.client
import types

from keystone.auth import schema as auth_schema
from keystone.common import render_token
from keystone.common.validation import validators
from keystoneauth1.identity import v3

from verdict import parse_json


def judge(exchange, method, path, query):
    if method != "POST" or path != "/auth/tokens":
        return f"{method} {path}", ["request: no sign-in"]
    operation = "POST /auth/tokens"
    messages = [f"request: unknown query {key}" for key in query if key != "nocatalog"]
    body, fault = parse_json(exchange["requestBody"])
    if fault is not None or not isinstance(body, dict) or list(body) != ["auth"]:
        return operation, [*messages, "request: no object with auth"]
    messages += check_sign_in(body["auth"])
    status = exchange["status"]
    if status == 0:
        return operation, messages
    answer, fault = parse_json(exchange["answerBody"])
    if fault is not None:
        return operation, [*messages, f"answer: {fault}"]
    if status >= 400:
        return operation, messages + check_error(status, answer)
    by_credential = "application_credential" in body["auth"]["identity"]
    expected = render(by_credential)
    return operation, messages + compare(answer, expected, "answer")


def check_sign_in(auth):
    """Keystone's schema, and equality with what its client would send for the same identity."""
    errors = validators.SchemaValidator(auth_schema.token_issue).validator.iter_errors(auth)
    messages = [f"request.auth: {error.message[:120]}" for error in errors]
    if messages:
        return messages
    identity, scope = auth["identity"], auth.get("scope", {})
    try:
        plugin = build_plugin(identity, scope)
    except (KeyError, TypeError) as error:
        return [f"request.auth: {error} is missing"]
    expected = capture_body(plugin)
    if expected != {"auth": auth}:
        return ["request.auth: keystoneauth sends another body for the same identity"]
    return messages


def build_plugin(identity, scope):
    """Returns the sign-in of Keystone's client with the identity's facts."""
    if identity["methods"] == ["application_credential"]:
        credential = identity["application_credential"]
        return v3.ApplicationCredential(
            "http://keystone.invalid/v3",
            application_credential_secret=credential["secret"],
            application_credential_id=credential.get("id"),
            application_credential_name=credential.get("name"),
            **name_user(credential.get("user", {})),
        )
    if identity["methods"] != ["password"]:
        raise KeyError("a known method")
    user = identity["password"]["user"]
    project = scope["project"]
    domain = project.get("domain", {})
    return v3.Password(
        "http://keystone.invalid/v3",
        password=user["password"],
        project_id=project.get("id"),
        project_name=project.get("name"),
        project_domain_id=domain.get("id"),
        project_domain_name=domain.get("name"),
        **name_user(user),
    )


def name_user(user):
    domain = user.get("domain", {})
    return {
        "user_id": user.get("id"),
        "username": user.get("name"),
        "user_domain_id": domain.get("id"),
        "user_domain_name": domain.get("name"),
    }


class Captured(Exception):
    """Ends a sign-in at its request."""


def capture_body(plugin):
    """Returns the body that Keystone's client would send."""

    def post(_url, json=None, **_rest):
        raise Captured(json)

    try:
        plugin.get_auth_ref(types.SimpleNamespace(post=post))
    except Captured as captured:
        return captured.args[0]
    raise RuntimeError("keystoneauth sent no sign-in")


def render(by_credential):
    """Renders a project's token with Keystone's own code."""
    endpoint = {"id": "", "interface": "", "region": "", "region_id": "", "url": ""}
    catalog = [{"endpoints": [endpoint], "id": "", "type": "", "name": ""}]
    # Only the settings and managers that a rendering asks.
    render_token.CONF = types.SimpleNamespace(
        resource=types.SimpleNamespace(admin_project_name=None, admin_project_domain_name=None)
    )
    render_token.PROVIDERS = types.SimpleNamespace(
        catalog_api=types.SimpleNamespace(get_v3_catalog=lambda *_: catalog),
        federation_api=types.SimpleNamespace(get_enabled_service_providers=lambda: []),
    )
    domain = {"id": "", "name": ""}
    token = types.SimpleNamespace(
        methods=[""], user_domain=domain, user_id="", user={"name": "", "password_expires_at": None},
        audit_ids=[""], expires_at="", issued_at="", system_scoped=False, domain_scoped=False, trust_scoped=False,
        project_scoped=True, project_domain=domain, project={"id": "", "name": ""}, roles=[domain], unscoped=False,
        trust_id=None, project_id="", is_federated=False, access_token_id=None,
        application_credential_id="" if not by_credential else "id",
        application_credential={"id": "", "name": "", "unrestricted": False},
    )
    return render_token.render_token_response_from_model(token)


def compare(value, expected, at):
    """Compares names and types with a rendered example; None in the example may be a text as well."""
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return [f"{at}: {type(value).__name__} in place of an object"]
        messages = [f"{at}.{key}: Keystone writes no such member" for key in value if key not in expected]
        for key, part in expected.items():
            if key in value:
                messages += compare(value[key], part, f"{at}.{key}")
            else:
                messages.append(f"{at}.{key}: missing, Keystone writes it")
        return messages
    if isinstance(expected, list):
        if not isinstance(value, list):
            return [f"{at}: {type(value).__name__} in place of a list"]
        return sorted({message for each in value for message in compare(each, expected[0], f"{at}[]")})
    if expected is None:
        return [] if value is None or isinstance(value, str) else [f"{at}: {type(value).__name__}"]
    return [] if type(value) is type(expected) else [f"{at}: {type(value).__name__} in place of {type(expected).__name__}"]


def check_error(status, body):
    """Compares an error with the members of Keystone's errors, whose title is the status's."""
    if not isinstance(body, dict) or list(body) != ["error"] or not isinstance(body["error"], dict):
        return ["error: no object with error"]
    error = body["error"]
    messages = [f"error.error.{key}: unknown" for key in error if key not in ("code", "title", "message", "identity")]
    if error.get("code") != status:
        messages.append(f"error.error.code: {error.get('code')} with status {status}")
    if error.get("title") != http.client.responses[status]:
        messages.append(f"error.error.title: {error.get('title')} in place of {http.client.responses[status]}")
    if not isinstance(error.get("message"), str):
        messages.append("error.error.message: no text")
    return messages
