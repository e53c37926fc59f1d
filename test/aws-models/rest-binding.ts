import { parseXml } from "#test/clouds/aws/moto/xml.ts";
import { getWireName, UNREADABLE } from "./check-value.ts";
import type { Exchange, Headers } from "./exchange.ts";
import { parseScalar } from "./parse-scalar.ts";
import { readXml } from "./read-xml.ts";
import { getShape, type Operation, type ServiceModel, type ShapeReference } from "./service-model.ts";
import type { Report } from "./violation.ts";

/** Members of a REST message by where they are: some were read from texts, the others are JSON of the body. */
export interface RestMessage {
  /** Of the URI, query, headers, status, and of an XML body or payload. */
  readonly read: Readonly<Record<string, unknown>>;
  /** The members of a JSON body; undefined where it is XML, a payload, or empty. */
  readonly json: unknown;
}

/** Finds the operation of a REST request by method and path, with the texts of the path's members. */
export function findRestOperation(
  model: ServiceModel,
  { method, target, requestHeaders }: Exchange,
): { readonly operation: Operation; readonly uri: Readonly<Record<string, string>> } | undefined {
  const { pathname, searchParams } = new URL(target, "http://aws");
  // Operations of one method and path, such as PutObject and CopyObject, differ in what they require.
  const hasRequired = ({ input }: Operation): boolean => {
    if (input === undefined) return true;
    const { required = [], members = {} } = getShape(model, input);
    return required.every((name) => {
      const member = members[name];
      const wireName = member === undefined ? name : getWireName(name, member);
      if (member?.location === "header") return requestHeaders[wireName.toLowerCase()] !== undefined;
      return member?.location !== "querystring" || searchParams.has(wireName);
    });
  };
  const found = Object.values(model.operations).flatMap((operation) => {
    const [path = "", query] = operation.http.requestUri.split("?");
    if (operation.http.method !== method) return [];
    // `?acl` selects an operation; without it the path alone does.
    const wanted = [...new URLSearchParams(query)];
    if (!wanted.every(([name, value]) => searchParams.get(name) === value)) return [];
    const match = compilePath(path).exec(pathname);
    return match === null
      ? []
      : [{ operation, uri: match.groups ?? {}, rank: 2 * wanted.length + (hasRequired(operation) ? 1 : 0) }];
  });
  return found.toSorted((one, other) => other.rank - one.rank).at(0);
}

/** Reads the members of a REST request. */
export function readRestRequest(
  model: ServiceModel,
  operation: Operation,
  uri: Readonly<Record<string, string>>,
  { target, requestHeaders, requestBody }: Exchange,
  report: Report,
): RestMessage {
  const query = new URL(target, "http://aws").searchParams;
  const known = new Set([...new URLSearchParams(operation.http.requestUri.split("?")[1]).keys(), "x-id"]);
  const input = operation.input;
  const members = input === undefined ? {} : (getShape(model, input).members ?? {});
  for (const name of query.keys()) {
    const isMember = Object.entries(members).some(
      ([member, each]) => each.location === "querystring" && getWireName(member, each) === name,
    );
    if (!isMember && !known.has(name) && !/^X-Amz-/i.test(name))
      report(name, "unknown", "no such parameter of the query");
  }
  if (input === undefined) return { read: {}, json: undefined };
  return readMembers(
    model,
    input,
    requestBody,
    report,
    (name, reference) => {
      const wireName = getWireName(name, reference);
      switch (reference.location) {
        case "uri":
          return uri[escapeGroup(wireName)] === undefined
            ? undefined
            : decodeURIComponent(uri[escapeGroup(wireName)] ?? "");
        case "querystring":
          return query.get(wireName) ?? undefined;
        default:
          return requestHeaders[wireName.toLowerCase()];
      }
    },
    requestHeaders,
  );
}

/** Reads the members of a successful REST answer. */
export function readRestAnswer(
  model: ServiceModel,
  { output }: Operation,
  { status, answerHeaders, answerBody }: Exchange,
  report: Report,
): RestMessage {
  if (output === undefined) return { read: {}, json: undefined };
  return readMembers(
    model,
    output,
    answerBody,
    report,
    (name, reference) =>
      reference.location === "statusCode"
        ? String(status)
        : answerHeaders[getWireName(name, reference).toLowerCase()],
    answerHeaders,
  );
}

function readMembers(
  model: ServiceModel,
  reference: ShapeReference,
  body: Buffer,
  report: Report,
  getText: (name: string, member: ShapeReference) => string | undefined,
  headers: Headers,
): RestMessage {
  const { members = {}, payload } = getShape(model, reference);
  const read: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(members)) {
    if (member.location === undefined) continue;
    if (member.location === "headers") {
      const prefix = getWireName(name, member).toLowerCase();
      const found = Object.entries(headers).filter(([each]) => each.startsWith(prefix));
      if (found.length > 0) read[name] = Object.fromEntries(found);
      continue;
    }
    const text = getText(name, member);
    const shape = getShape(model, member);
    if (text === undefined) continue;
    if (shape.type === "list") read[name] = text.split(",").map((each) => each.trim());
    else read[name] = parseScalar(shape, text, name, report);
  }
  if (payload !== undefined) {
    const member = members[payload];
    const type = member === undefined ? undefined : getShape(model, member).type;
    if (member === undefined || body.length === 0) return { read, json: undefined };
    if (type === "blob" || type === "string") read[payload] = type === "blob" ? body : body.toString("utf8");
    else if (model.metadata.protocol === "rest-xml")
      read[payload] = readDocument(model, member, body, payload, report);
    return { read, json: undefined };
  }
  const rest = Object.values(members).some(({ location }) => location === undefined);
  if (!rest || body.length === 0) return { read, json: undefined };
  if (model.metadata.protocol === "rest-xml") {
    const document = readDocument(model, reference, body, "", report);
    return { read: { ...(typeof document === "object" ? document : {}), ...read }, json: undefined };
  }
  return { read, json: parseJson(body) };
}

/** Parses a JSON body; undefined for another one, which a client reports itself. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function readDocument(
  model: ServiceModel,
  reference: ShapeReference,
  body: Buffer,
  path: string,
  report: Report,
): unknown {
  try {
    const root = parseXml(body.toString("utf8"));
    return readXml(model, reference, root, (at, rule, detail) =>
      report([path, at].filter(Boolean).join("."), rule, detail),
    );
  } catch {
    return UNREADABLE;
  }
}

const PATHS = new Map<string, RegExp>();

/** Returns the expression of a path such as `/functions/{FunctionName}/invocations`. */
function compilePath(path: string): RegExp {
  const known = PATHS.get(path);
  if (known !== undefined) return known;
  const source = path
    .replaceAll(
      /\{([^}+]+)(\+?)\}/g,
      (_, name: string, isGreedy: string) => `(?<${escapeGroup(name)}>${isGreedy === "" ? "[^/]+" : ".+"})`,
    )
    .replace(/\/$/, "");
  const compiled = new RegExp(`^${source}/?$`);
  PATHS.set(path, compiled);
  return compiled;
}

function escapeGroup(name: string): string {
  return name.replaceAll(/\W/g, "_");
}
