import type { ServiceName } from "./service-model.ts";

/** Names in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** A request of AWS's API and its answer, as they were sent. */
export interface Exchange {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly requestHeaders: Headers;
  readonly requestBody: Buffer;
  readonly status: number;
  readonly answerHeaders: Headers;
  readonly answerBody: Buffer;
}

/** The service of an exchange, and the operation where the request names it. */
export type Identity =
  | {
      readonly protocol: "query";
      readonly service: ServiceName;
      readonly operation: string;
      readonly parameters: URLSearchParams;
    }
  | { readonly protocol: "json"; readonly service: ServiceName; readonly operation: string }
  | { readonly protocol: "rest"; readonly service: ServiceName };

const VERSIONS: Readonly<Record<string, ServiceName>> = {
  "2016-11-15": "ec2",
  "2012-06-01": "elb",
  "2015-12-01": "elbv2",
  "2011-06-15": "sts",
};

const TARGETS: Readonly<Record<string, ServiceName>> = {
  AmazonSSM: "ssm",
  secretsmanager: "secretsmanager",
  CertificateManager: "acm",
};

const FORM = "application/x-www-form-urlencoded";
const LAMBDA_PATH = /^\/20\d\d-\d\d-\d\d\/(?:functions|account-settings|event-source-mappings|layers|tags)\b/;
const S3_SCOPE = /\/s3\/aws4_request/;

/**
 * Whether a request may be one of AWS's API, from what its head says: other requests, such as Kubernetes', are not
 * recorded.
 */
export function isPerhapsAws(method: string, target: string, headers: Headers): boolean {
  return (
    headers["x-amz-target"] !== undefined ||
    headers["authorization"]?.startsWith("AWS4-HMAC-SHA256 ") === true ||
    LAMBDA_PATH.test(target) ||
    (method === "POST" && headers["content-type"]?.startsWith(FORM) === true) ||
    target.includes("Version=2011-06-15")
  );
}

/** Finds the service of an exchange; undefined if no model in use has it. */
export function identifyExchange(exchange: Exchange): Identity | undefined {
  const { target, requestHeaders: headers } = exchange;
  const amzTarget = headers["x-amz-target"];
  if (amzTarget !== undefined) {
    const [prefix = "", operation = ""] = amzTarget.split(".");
    const service = TARGETS[prefix];
    return service === undefined ? undefined : { protocol: "json", service, operation };
  }
  if (LAMBDA_PATH.test(target)) return { protocol: "rest", service: "lambda" };
  const parameters = headers["content-type"]?.startsWith(FORM)
    ? new URLSearchParams(exchange.requestBody.toString("utf8"))
    : new URL(target, "http://aws").searchParams;
  const service = VERSIONS[parameters.get("Version") ?? ""];
  const operation = parameters.get("Action");
  if (service !== undefined && operation !== null)
    return { protocol: "query", service, operation, parameters };
  return S3_SCOPE.test(headers["authorization"] ?? "") ? { protocol: "rest", service: "s3" } : undefined;
}
