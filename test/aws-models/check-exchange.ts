import { parseXml, type XmlElement } from "#test/clouds/aws/moto/xml.ts";
import { checkValue, type Form } from "./check-value.ts";
import { type Exchange, type Identity, identifyExchange } from "./exchange.ts";
import { readForm } from "./read-form.ts";
import { readXml } from "./read-xml.ts";
import { findRestOperation, parseJson, readRestAnswer, readRestRequest } from "./rest-binding.ts";
import {
  getShape,
  loadModel,
  type Operation,
  type ServiceModel,
  type ServiceName,
  type ShapeReference,
} from "./service-model.ts";
import type { Report, Side, Violation } from "./violation.ts";

/** Parameters of every query request, and of presigned ones. */
const COMMON_PARAMETERS = /^(?:Action|Version|X-Amz-.*)$/;

/**
 * Checks a request and its answer, as they were sent, against the service's model. Returns nothing for requests of
 * services without a model. A body that cannot be parsed at all is the client's to report.
 */
export function checkExchange(dataFolder: string, exchange: Exchange): readonly Violation[] {
  const identity = identifyExchange(exchange);
  if (identity === undefined) return [];
  const { service } = identity;
  const model = loadModel(dataFolder, service);
  const rest = identity.protocol === "rest" ? findRestOperation(model, exchange) : undefined;
  const operation = identity.protocol === "rest" ? rest?.operation : model.operations[identity.operation];
  const violations: Violation[] = [];
  const name = identity.protocol === "rest" ? (operation?.name ?? exchange.method) : identity.operation;
  const reportFor =
    (side: Side): Report =>
    (path, rule, detail) =>
      violations.push({ operation: `${service}:${name}`, side, path, rule, detail });
  if (operation === undefined) {
    reportFor("request")("", "unknown", "no such operation");
    return violations;
  }
  checkRequest(model, operation, exchange, identity, rest?.uri ?? {}, reportFor("request"));
  const report = reportFor("answer");
  if (exchange.status >= 300) checkError(model, service, operation, exchange, report);
  else checkAnswer(model, operation, exchange, report);
  return violations;
}

function checkRequest(
  model: ServiceModel,
  operation: Operation,
  exchange: Exchange,
  identity: Identity,
  uri: Readonly<Record<string, string>>,
  report: Report,
): void {
  const { input } = operation;
  switch (identity.protocol) {
    case "query": {
      const own = [...identity.parameters].filter(([name]) => !COMMON_PARAMETERS.test(name));
      if (input !== undefined) {
        const value = readForm(model, input, own, report);
        checkValue(model, input, value, "sdk", report);
      } else for (const [name] of own) report(name, "unknown", "no such parameter");
      return;
    }
    case "json":
      if (input !== undefined) checkJson(model, input, exchange.requestBody, report);
      return;
    case "rest": {
      const message = readRestRequest(model, operation, uri, exchange, report);
      if (input !== undefined) checkParts(model, input, message, report);
    }
  }
}

function checkAnswer(model: ServiceModel, operation: Operation, exchange: Exchange, report: Report): void {
  const { output } = operation;
  const { protocol } = model.metadata;
  if (protocol === "ec2" || protocol === "query") {
    const root = parseDocument(exchange.answerBody);
    if (root !== undefined) checkDocument(model, operation, root, report);
  } else if (protocol === "json") {
    if (output !== undefined) checkJson(model, output, exchange.answerBody, report);
  } else {
    const { responseCode = 200 } = operation.http;
    const members = output === undefined ? {} : (getShape(model, output).members ?? {});
    const isFree = Object.values(members).some(({ location }) => location === "statusCode");
    if (!isFree && exchange.status !== responseCode)
      report("", "protocol", `HTTP status ${responseCode}, not ${exchange.status}`);
    if (output !== undefined)
      checkParts(model, output, readRestAnswer(model, operation, exchange, report), report);
  }
}

/** Checks the document of a query answer: its root, its namespace, the result, and what is around it. */
function checkDocument(model: ServiceModel, operation: Operation, root: XmlElement, report: Report): void {
  const { output, name } = operation;
  const { protocol, xmlNamespace } = model.metadata;
  if (root.name !== `${name}Response`)
    report("", "protocol", `a document ${name}Response, not ${root.name.slice(0, 64)}`);
  const namespace = typeof xmlNamespace === "string" ? xmlNamespace : xmlNamespace?.uri;
  const actual = /\bxmlns="([^"]*)"/.exec(root.attributes)?.[1];
  if (withoutSlash(actual) !== withoutSlash(namespace))
    report("", "protocol", `the namespace ${namespace}, not ${actual ?? "none"}`);
  const ignored = new Set(protocol === "ec2" ? ["requestId"] : ["ResponseMetadata"]);
  // EC2 confirms with `return` what has no result of its own.
  if (protocol === "ec2" && output === undefined) ignored.add("return");
  if (output?.resultWrapper !== undefined) {
    ignored.add(output.resultWrapper);
    const result = root.children.find((each) => each.name === output.resultWrapper);
    if (result === undefined) report("", "protocol", `an element ${output.resultWrapper}`);
    else checkElement(model, output, result, report);
  } else if (output !== undefined) {
    checkElement(model, output, root, report, ignored);
    return;
  }
  for (const each of root.children)
    if (!ignored.has(each.name)) report(each.name, "unknown", "no such element");
}

function checkElement(
  model: ServiceModel,
  output: ShapeReference,
  element: XmlElement,
  report: Report,
  ignored?: ReadonlySet<string>,
): void {
  checkValue(model, output, readXml(model, output, element, report, ignored), "sdk", report);
}

function checkJson(model: ServiceModel, reference: ShapeReference, body: Buffer, report: Report): void {
  const value = body.length === 0 ? {} : parseJson(body);
  if (value !== undefined) checkValue(model, reference, value, "json", report);
}

/** Checks the members of a REST message, each in its own form. */
function checkParts(
  model: ServiceModel,
  reference: ShapeReference,
  { read, json }: { readonly read: Readonly<Record<string, unknown>>; readonly json: unknown },
  report: Report,
): void {
  const forms: readonly (readonly [unknown, Form])[] =
    json === undefined
      ? [[read, "sdk"]]
      : [
          [json, "json"],
          [read, "sdk"],
        ];
  const { required = [], members = {} } = getShape(model, reference);
  for (const [value, form] of forms)
    checkValue(model, reference, value, form, (path, rule, detail) => {
      // Each part lacks the members of the other.
      if (rule === "required" && required.includes(path)) {
        const isInBody = members[path]?.location === undefined;
        if (json !== undefined && isInBody !== (form === "json")) return;
      }
      report(path, rule, detail);
    });
}

/**
 * Errors of any operation: of quotas, permissions, signatures, and of AWS itself.
 */
const COMMON_ERRORS: ReadonlySet<string> = new Set([
  "AccessDenied",
  "AccessDeniedException",
  "ExpiredToken",
  "ExpiredTokenException",
  "IncompleteSignature",
  "InternalError",
  "InternalFailure",
  "InternalServerError",
  "InvalidAction",
  "InvalidClientTokenId",
  "InvalidParameterCombination",
  "InvalidParameterValue",
  "MalformedQueryString",
  "MissingAction",
  "MissingAuthenticationToken",
  "MissingParameter",
  "OptInRequired",
  "RequestExpired",
  "ServiceUnavailable",
  "ServiceUnavailableException",
  "SignatureDoesNotMatch",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "UnrecognizedClientException",
  "ValidationError",
  "ValidationException",
]);

/** Checks the form of an error, and that the operation returns its code. EC2's model lists no codes. */
function checkError(
  model: ServiceModel,
  service: ServiceName,
  operation: Operation,
  exchange: Exchange,
  report: Report,
): void {
  const code = readErrorCode(model, exchange, report);
  if (code === undefined || service === "ec2" || service === "s3" || COMMON_ERRORS.has(code)) return;
  const known = (operation.errors ?? []).map((each) => getShape(model, each).error?.code ?? each.shape);
  if (!known.includes(code)) report("", "error", `an error of ${operation.name}, not ${code}`);
}

function readErrorCode(
  { metadata: { protocol } }: ServiceModel,
  { answerHeaders, answerBody }: Exchange,
  report: Report,
): string | undefined {
  if (protocol === "json" || protocol === "rest-json") {
    const body = parseJson(answerBody) as { readonly __type?: unknown; readonly code?: unknown } | undefined;
    const code = answerHeaders["x-amzn-errortype"] ?? body?.__type ?? body?.code;
    // A gateway on the way answers without a code.
    if (code === "") return undefined;
    if (typeof code === "string") return code.split(":")[0]?.split("#").at(-1);
    if (body !== undefined) report("", "protocol", "an error without x-amzn-errortype and __type");
    return undefined;
  }
  const root = parseDocument(answerBody);
  if (root === undefined) return undefined;
  const path = ERROR_PATHS[protocol];
  let element: XmlElement | undefined = { name: "", attributes: "", children: [root], text: "" };
  for (const name of path) element = element?.children.find((each) => each.name === name);
  const code = element?.children.find(({ name }) => name === "Code")?.text.trim();
  if (code === undefined) report("", "protocol", `an error at ${path.join("/")}/Code, not ${root.name}`);
  return code;
}

const ERROR_PATHS = {
  ec2: ["Response", "Errors", "Error"],
  query: ["ErrorResponse", "Error"],
  "rest-xml": ["Error"],
} as const;

function parseDocument(body: Buffer): XmlElement | undefined {
  const text = body.toString("utf8");
  // A proxy's web page, as some tests have it on the way.
  if (!text.startsWith("<") || /^<(?:!|html\b)/i.test(text)) return undefined;
  try {
    return parseXml(text);
  } catch {
    return undefined;
  }
}

function withoutSlash(namespace: string | undefined): string | undefined {
  return namespace?.replace(/\/$/, "");
}
