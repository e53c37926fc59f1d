import type { IncomingHttpHeaders } from "node:http";
import { type Parameters, parseParameters } from "#emulators/ec2/parameters.ts";
import { createElement, findChild, type XmlElement } from "./xml.ts";

/** The services that speak AWS's query protocol here; both ELBs are one host and differ in the version of their API. */
export type ServiceName = "ec2" | "elb" | "elbv2" | "sts";

/** One call of AWS's API. */
export interface Call {
  readonly service: ServiceName;
  /** Such as `CreateListener`. */
  readonly operation: string;
  readonly region: string;
  /** The parameters in the request's form. */
  readonly form: Readonly<Record<string, string>>;
  readonly parameters: Parameters;
}

/** AWS's answer: an HTTP status and a document. */
export interface Answer {
  readonly status: number;
  readonly body: XmlElement;
}

const SERVICES: Readonly<Record<string, ServiceName>> = {
  "2016-11-15": "ec2",
  "2012-06-01": "elb",
  "2015-12-01": "elbv2",
  "2011-06-15": "sts",
};

/** The API version of each service, sent in a request. */
export const VERSIONS: Readonly<Record<ServiceName, string>> = {
  ec2: "2016-11-15",
  elb: "2012-06-01",
  elbv2: "2015-12-01",
  sts: "2011-06-15",
};

/** Parses a request into a call; undefined if it is not of the query protocol. */
export function parseCall(body: string, headers: IncomingHttpHeaders): Call | undefined {
  const form = Object.fromEntries(new URLSearchParams(body));
  const service = SERVICES[form["Version"] ?? ""];
  const operation = form["Action"];
  if (service === undefined || operation === undefined) return undefined;
  const [, region = "us-east-1"] = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? "") ?? [];
  return { service, operation, region, form, parameters: parseParameters(body) };
}

/** Returns the call with parameters set or, if undefined, removed. */
export function replaceParameters(call: Call, changes: Readonly<Record<string, string | undefined>>): Call {
  const form: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...call.form, ...changes }))
    if (value !== undefined) form[name] = value;
  return { ...call, form, parameters: parseParameters(formatBody(form)) };
}

/** Returns the call without a list's parameters. */
export function removeList(call: Call, prefix: string): Call {
  const gone = Object.keys(call.form).filter((name) => name.startsWith(`${prefix}.`));
  return replaceParameters(call, Object.fromEntries(gone.map((name) => [name, undefined])));
}

/** Returns the call with a list's values replaced. */
export function replaceList(call: Call, prefix: string, values: readonly string[]): Call {
  const listed = values.map((value, index) => [`${prefix}.${index + 1}`, value]);
  return replaceParameters(removeList(call, prefix), Object.fromEntries(listed));
}

/** Returns the form of a request. */
export function formatBody(form: Readonly<Record<string, string>>): string {
  return new URLSearchParams(form).toString();
}

/** Returns a name such as `elbv2:CreateListener`. */
export function formatCallName({ service, operation }: Pick<Call, "service" | "operation">): string {
  return `${service}:${operation}`;
}

/**
 * Returns the content of an answer's document: for both ELBs the result element, for EC2 the document itself.
 */
export function getResult({ body }: Pick<Answer, "body">): XmlElement {
  return body.children.find(({ name }) => name.endsWith("Result")) ?? body;
}

/** Returns whether an answer is not a fault. */
export function hasSucceeded({ status }: Answer): boolean {
  return status < 300;
}

/** Builds a successful answer of one of the ELBs. */
export function buildAnswer(call: Call, result: XmlElement[]): Answer {
  const metadata = createElement("ResponseMetadata", [createElement("RequestId", REQUEST_ID)]);
  const children = [createElement(`${call.operation}Result`, result), metadata];
  const namespace = `http://elasticloadbalancing.amazonaws.com/doc/${VERSIONS[call.service]}/`;
  const body = {
    ...createElement(`${call.operation}Response`, children),
    attributes: ` xmlns="${namespace}"`,
  };
  return { status: 200, body };
}

/** Builds a fault in the format of the call's service. */
export function buildFault(call: Call, code: string, message: string, status = 400): Answer {
  const error = [createElement("Code", code), createElement("Message", message)];
  const body =
    call.service === "ec2"
      ? createElement("Response", [
          createElement("Errors", [createElement("Error", error)]),
          createElement("RequestID", REQUEST_ID),
        ])
      : createElement("ErrorResponse", [
          createElement("Error", [createElement("Type", status < 500 ? "Sender" : "Receiver"), ...error]),
          createElement("RequestId", REQUEST_ID),
        ]);
  return { status, body };
}

/** Returns the code of an answer's fault. */
export function getFaultCode({ status, body }: Answer): string | undefined {
  if (status < 300) return undefined;
  const error = findChild(body, "Error") ?? findChild(findChild(body, "Errors"), "Error");
  return findChild(error, "Code")?.text.trim();
}

const REQUEST_ID = "00000000-0000-4000-8000-000000000000";
