import { LIST_META, OBJECT_META, type OpenApi, type Operation, STATUS } from "#test/openapi/operations.ts";
import { checkPatch } from "#test/openapi/patches.ts";
import type { Schema, SchemaIssue, SchemaValidator } from "#test/openapi/schema.ts";

/** A request to an API server. */
export interface JudgedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly contentType: string | undefined;
  /** Empty without a body. */
  readonly body: string;
}

/** The answer to a request. */
export interface JudgedAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** The health checks have no document. */
const UNDOCUMENTED = /^\/(?:healthz|livez|readyz)$/;

/** Returns what the documents do not allow in a request. */
export function judgeRequest(openApi: OpenApi, request: JudgedRequest): readonly SchemaIssue[] {
  const { pathname, searchParams } = parsePath(request.path);
  if (UNDOCUMENTED.test(pathname)) return [];
  const operation = openApi.find(request.method, pathname);
  if (operation === undefined) return [{ pointer: "", rule: "path: no document has it" }];
  if (operation === "method") return [{ pointer: "", rule: "method: the path does not have it" }];
  return [...checkQuery(operation, searchParams), ...checkBody(operation, request)];
}

/** Returns what the documents do not allow in an answer. */
export function judgeAnswer(
  openApi: OpenApi,
  { method, path }: Pick<JudgedRequest, "method" | "path">,
  answer: JudgedAnswer,
): readonly SchemaIssue[] {
  const { pathname } = parsePath(path);
  const operation = openApi.find(method, pathname);
  if (UNDOCUMENTED.test(pathname) || isMissingPage(operation, answer)) return [];
  if (answer.contentType !== "application/json")
    return [{ pointer: "", rule: `content type: application/json, found ${answer.contentType}` }];
  const value = parse(answer.body);
  if (value instanceof Error) return [{ pointer: "", rule: value.message }];
  if (answer.status >= 400) return checkFailure(openApi, value, answer.status);
  if (typeof operation !== "object") return [{ pointer: "", rule: "answered, but no document has it" }];
  return checkAnswered(operation, openApi, answer.status, value);
}

/** Returns what the documents do not allow in a line of a watch. */
export function judgeWatchLine(openApi: OpenApi, path: string, line: string): readonly SchemaIssue[] {
  const operation = openApi.find("GET", parsePath(path).pathname);
  if (typeof operation !== "object" || !operation.lists || operation.object === undefined)
    return [{ pointer: "", rule: "a watch of a path that does not list" }];
  const value = parse(line);
  if (value instanceof Error) return [{ pointer: "", rule: value.message }];
  const shape = openApi.meta.validate(WATCH_EVENT, value, "answered");
  if (shape.length > 0) return shape;
  const { type, object } = value as { readonly type: string; readonly object: unknown };
  if (type === "ERROR") return checkKind(openApi.meta, STATUS, object, "/object");
  if (readKind(object) === PARTIAL)
    return openApi.meta.validate(PARTIAL_OBJECT, object, "answered", "/object");
  return checkKind(operation.validator, operation.object, object, "/object");
}

/** Returns what the documents do not allow in a stored object of a path. */
export function judgeStored(openApi: OpenApi, path: string, object: string): readonly SchemaIssue[] {
  const operation = openApi.find("GET", parsePath(path).pathname);
  const value = parse(object);
  if (typeof operation !== "object" || operation.object === undefined || value instanceof Error)
    return [{ pointer: "", rule: "a stored object without a document" }];
  return checkKind(operation.validator, operation.object, value, "");
}

const PARTIAL = "meta.k8s.io/v1 PartialObjectMetadata";
const TEXT: Schema = { type: "string" };

/** The documents lack the forms that a client chooses by its Accept header; these are metav1's types. */
const PARTIAL_OBJECT: Schema = {
  type: "object",
  required: ["kind", "apiVersion", "metadata"],
  properties: { kind: TEXT, apiVersion: TEXT, metadata: OBJECT_META },
};
const PARTIAL_LIST: Schema = {
  type: "object",
  required: ["kind", "apiVersion", "metadata", "items"],
  properties: {
    kind: TEXT,
    apiVersion: TEXT,
    metadata: LIST_META,
    // Go encodes an empty list as null here.
    items: { oneOf: [{ type: "array", items: PARTIAL_OBJECT }, { enum: [null] }] },
  },
};
const TABLE: Schema = {
  type: "object",
  required: ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"],
  properties: {
    kind: TEXT,
    apiVersion: TEXT,
    metadata: LIST_META,
    columnDefinitions: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "type", "format", "description", "priority"],
        properties: {
          name: TEXT,
          type: TEXT,
          format: TEXT,
          description: TEXT,
          priority: { type: "integer", format: "int32" },
        },
      },
    },
    rows: {
      type: "array",
      items: {
        type: "object",
        required: ["cells"],
        properties: { cells: { type: "array" }, conditions: { type: "array" }, object: PARTIAL_OBJECT },
      },
    },
  },
};
const WATCH_EVENT: Schema = {
  type: "object",
  required: ["type", "object"],
  properties: {
    type: { type: "string", enum: ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] },
    object: { type: "object" },
  },
};

const CHOSEN: Readonly<Record<string, Schema>> = {
  [PARTIAL]: PARTIAL_OBJECT,
  [`${PARTIAL}List`]: PARTIAL_LIST,
  "meta.k8s.io/v1 Table": TABLE,
};

function checkAnswered(
  operation: Operation,
  openApi: OpenApi,
  status: number,
  value: unknown,
): readonly SchemaIssue[] {
  const { validator, answers, object } = operation;
  const schema = answers.get(status);
  if (schema === undefined) return [{ pointer: "", rule: `status: the document has no ${status}` }];
  const kind = readKind(value);
  const chosen = CHOSEN[kind];
  if (chosen !== undefined) return openApi.meta.validate(chosen, value, "answered");
  // A deletion answers the object that its finalizers keep, although the document names only a Status.
  const kept = kind !== "v1 Status" && validator.listKinds(schema).includes("v1 Status");
  return checkKind(validator, kept && object !== undefined ? object : schema, value, "");
}

function checkFailure(openApi: OpenApi, value: unknown, status: number): readonly SchemaIssue[] {
  const issues = checkKind(openApi.meta, STATUS, value, "");
  if (issues.length > 0) return issues;
  const { code, status: result } = value as { readonly code?: number; readonly status?: string };
  return [
    ...(code === status ? [] : [{ pointer: "/code", rule: `the HTTP status ${status}, found ${code}` }]),
    ...(result === "Failure" ? [] : [{ pointer: "/status", rule: `Failure, found ${result}` }]),
  ];
}

/** Checks an object that names its kind, which has to be one of the schema's. */
function checkKind(
  validator: SchemaValidator,
  schema: Schema,
  value: unknown,
  pointer: string,
): readonly SchemaIssue[] {
  const kinds = validator.listKinds(schema);
  const kind = readKind(value);
  // The lists of discovery have no apiVersion of their own.
  const isKind = kinds.length === 0 || kinds.includes(kind) || /^undefined API/.test(kind);
  return [
    ...(isKind ? [] : [{ pointer: `${pointer}/kind`, rule: `${kinds.join(" or ")}, found ${kind}` }]),
    ...validator.validate(schema, value, "answered", pointer),
  ];
}

function checkQuery({ parameters }: Operation, query: URLSearchParams): readonly SchemaIssue[] {
  return [...query].flatMap(([name, value]) => {
    const parameter = parameters.get(name);
    if (parameter === undefined) return [{ pointer: "", rule: `query: ${name} is not declared` }];
    return VALUES[parameter.type].test(value)
      ? []
      : [{ pointer: "", rule: `query: ${name} is no ${parameter.type}: ${value}` }];
  });
}

const VALUES = { string: /^/, integer: /^\d+$/, boolean: /^(?:true|false|1|0)$/ };

function checkBody(operation: Operation, request: JudgedRequest): readonly SchemaIssue[] {
  const { method, body } = request;
  const { bodies, validator, object } = operation;
  const type = request.contentType?.split(";", 1)[0]?.trim() ?? "application/json";
  if (bodies.size === 0) return body === "" ? [] : [{ pointer: "", rule: "body: the method has none" }];
  if (body === "" && method === "DELETE") return [];
  const schema = bodies.get(type) ?? (type === "application/json" ? bodies.get("*/*") : undefined);
  if (schema === undefined) return [{ pointer: "", rule: `content type: ${type} is not declared` }];
  const value = parse(body);
  if (value instanceof Error) return [{ pointer: "", rule: value.message }];
  if (method === "PATCH") return checkPatch(validator, object ?? {}, type, value);
  return validator.validate(schema, value, "sent");
}

// Only the API groups' paths have pages of objects; anything else is answered without a Status.
function isMissingPage(operation: Operation | "method" | undefined, { status, body }: JudgedAnswer): boolean {
  return operation === undefined && status === 404 && body === "404 page not found\n";
}

function readKind(value: unknown): string {
  const { apiVersion, kind } = (value ?? {}) as { readonly apiVersion?: string; readonly kind?: string };
  return `${apiVersion} ${kind}`;
}

function parsePath(path: string): URL {
  return new URL(path, "https://api-server");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return new Error(`JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
