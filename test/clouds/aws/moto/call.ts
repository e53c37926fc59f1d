import type { IncomingHttpHeaders } from "node:http";
import { type Parameters, parseParameters } from "#emulators/ec2/parameters.ts";
import { child, element, type XmlElement } from "./xml.ts";

/** The services that speak AWS's query protocol here; both ELBs are one host and differ in the version of their API. */
export type ServiceName = "ec2" | "elb" | "elbv2" | "sts";

/** One call of AWS's API. */
export interface Call {
  readonly service: ServiceName;
  /** Such as `CreateListener`. */
  readonly operation: string;
  readonly region: string;
  /** As the request's form has them. */
  readonly form: Readonly<Record<string, string>>;
  readonly parameters: Parameters;
}

/** What AWS answers: an HTTP status and a document. */
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

/** The version of each service's API that goes into a request. */
export const VERSIONS: Readonly<Record<ServiceName, string>> = {
  ec2: "2016-11-15",
  elb: "2012-06-01",
  elbv2: "2015-12-01",
  sts: "2011-06-15",
};

/** The call that a request is; undefined where it is none of the query protocol. */
export function parseCall(body: string, headers: IncomingHttpHeaders): Call | undefined {
  const form = Object.fromEntries(new URLSearchParams(body));
  const service = SERVICES[form["Version"] ?? ""];
  const operation = form["Action"];
  if (service === undefined || operation === undefined) return undefined;
  const [, region = "us-east-1"] = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? "") ?? [];
  return { service, operation, region, form, parameters: parseParameters(body) };
}

/** The same call with parameters set, or, where undefined, left out. */
export function withParameters(call: Call, changes: Readonly<Record<string, string | undefined>>): Call {
  const form: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...call.form, ...changes }))
    if (value !== undefined) form[name] = value;
  return { ...call, form, parameters: parseParameters(bodyOf(form)) };
}

/** The same call without a list's parameters. */
export function withoutList(call: Call, prefix: string): Call {
  const gone = Object.keys(call.form).filter((name) => name.startsWith(`${prefix}.`));
  return withParameters(call, Object.fromEntries(gone.map((name) => [name, undefined])));
}

/** The same call with a list's values replaced. */
export function withList(call: Call, prefix: string, values: readonly string[]): Call {
  const listed = values.map((value, index) => [`${prefix}.${index + 1}`, value]);
  return withParameters(withoutList(call, prefix), Object.fromEntries(listed));
}

/** The form of a request. */
export function bodyOf(form: Readonly<Record<string, string>>): string {
  return new URLSearchParams(form).toString();
}

/** `elbv2:CreateListener`. */
export function nameOf({ service, operation }: Pick<Call, "service" | "operation">): string {
  return `${service}:${operation}`;
}

/** What an answer's document holds: of both ELBs the result element, of EC2 the document itself. */
export function resultOf({ body }: Pick<Answer, "body">): XmlElement {
  return body.children.find(({ name }) => name.endsWith("Result")) ?? body;
}

/** An answer without a fault. */
export function succeeded({ status }: Answer): boolean {
  return status < 300;
}

/** A successful answer of one of the ELBs. */
export function answerOf(call: Call, result: XmlElement[]): Answer {
  const metadata = element("ResponseMetadata", [element("RequestId", REQUEST_ID)]);
  const body = element(`${call.operation}Response`, [element(`${call.operation}Result`, result), metadata]);
  return { status: 200, body };
}

/** A fault as the call's service writes it. */
export function faultOf(call: Call, code: string, message: string, status = 400): Answer {
  const error = [element("Code", code), element("Message", message)];
  const body =
    call.service === "ec2"
      ? element("Response", [element("Errors", [element("Error", error)]), element("RequestID", REQUEST_ID)])
      : element("ErrorResponse", [
          element("Error", [element("Type", status < 500 ? "Sender" : "Receiver"), ...error]),
          element("RequestId", REQUEST_ID),
        ]);
  return { status, body };
}

/** The code of an answer's fault. */
export function codeOf({ status, body }: Answer): string | undefined {
  if (status < 300) return undefined;
  const error = child(body, "Error") ?? child(child(body, "Errors"), "Error");
  return child(error, "Code")?.text.trim();
}

const REQUEST_ID = "00000000-0000-4000-8000-000000000000";
