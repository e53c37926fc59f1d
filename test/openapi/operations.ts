import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Schema, type Schemas, SchemaValidator } from "#test/openapi/schema.ts";

/** A parameter of a query, as a document declares it. */
export interface QueryParameter {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean";
}

/** A method of a path in a document. */
export interface Operation {
  readonly validator: SchemaValidator;
  /** The path with its variables, such as `/api/v1/nodes/{name}`. */
  readonly template: string;
  readonly parameters: ReadonlyMap<string, QueryParameter>;
  /** The schemas of request bodies by content type; a `*` stands for any. */
  readonly bodies: ReadonlyMap<string, Schema>;
  /** The schemas of JSON answers by HTTP status. */
  readonly answers: ReadonlyMap<number, Schema>;
  /** Whether the operation lists, and so can watch. */
  readonly lists: boolean;
  /** The schema of the path's objects; undefined without stored objects. */
  readonly object: Schema | undefined;
}

/** The documents of one kube-apiserver. */
export interface OpenApi {
  /** Returns undefined for a path of no document, and `method` for a path without this method. */
  find(method: string, path: string): Operation | "method" | undefined;
  /** Validates values that belong to no operation by the schemas of every group. */
  readonly meta: SchemaValidator;
}

interface Document {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components?: { readonly schemas?: Schemas };
}

type PathItem = Readonly<Record<string, DocumentedOperation | undefined>> & {
  readonly parameters?: readonly DocumentedParameter[];
};

interface DocumentedOperation {
  readonly parameters?: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly "x-kubernetes-action"?: string;
}

interface DocumentedParameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly schema: { readonly type: QueryParameter["type"] };
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

const META = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.";

/** References to schemas that are in the documents of all groups. */
export const OBJECT_META: Schema = { $ref: `${META}ObjectMeta` };
export const LIST_META: Schema = { $ref: `${META}ListMeta` };
export const STATUS: Schema = { $ref: `${META}Status` };

/** Returns the name of the file that has the document of a group and version, such as `apis/policy/v1`. */
export function formatDocumentFile(name: string): string {
  return `${name.replaceAll("/", "_")}.json`;
}

/** Reads the documents in a folder; each at the first request for one of its paths. */
export function readOpenApi(folder: string): OpenApi {
  const documents = new Map<string, ReadDocument | undefined>();
  const read = (name: string): ReadDocument | undefined => {
    const known = documents.get(name);
    if (known !== undefined || documents.has(name)) return known;
    const made = readDocument(join(folder, formatDocumentFile(name)));
    documents.set(name, made);
    return made;
  };
  return {
    find(method, path) {
      const clean = path.replace(/\/$/, "");
      return read(nameDocument(clean))?.find(method, clean);
    },
    get meta() {
      const core = read("api/v1");
      if (core === undefined) throw new Error(`${folder} has no document of the core group: remove it`);
      return core.validator;
    },
  };
}

/** A group and version has its own document, and so has the list of a group's versions. */
function nameDocument(path: string): string {
  const [, root = "", ...parts] = path.split("/");
  const depth = root === "apis" ? 2 : root === "api" ? 1 : 0;
  return [root, ...parts.slice(0, depth)].join("/");
}

interface ReadDocument {
  readonly validator: SchemaValidator;
  find(method: string, path: string): Operation | "method" | undefined;
}

function readDocument(file: string): ReadDocument | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const document = JSON.parse(text) as Document;
  const validator = new SchemaValidator(document.components?.schemas ?? {});
  const paths = Object.entries(document.paths).map(([template, item]) => {
    const clean = template.replace(/\/$/, "");
    const pattern = clean.replaceAll(".", "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+");
    return { template: clean, item, pattern: new RegExp(`^${pattern}$`), variables: countVariables(clean) };
  });
  const known = new Map<string, Operation>();
  return {
    validator,
    find(method, path) {
      // `nodes/{name}/status` and the proxy's `nodes/{name}/{path}` both match: the one with fewer variables counts.
      const matching = paths
        .filter(({ pattern }) => pattern.test(path))
        .toSorted((left, right) => left.variables - right.variables);
      const [first] = matching;
      if (first === undefined) return undefined;
      const operation = first.item[method.toLowerCase()];
      if (operation === undefined) return "method";
      const key = `${method} ${first.template}`;
      const made = known.get(key) ?? buildOperation(validator, first.template, first.item, operation);
      known.set(key, made);
      return made;
    },
  };
}

function countVariables(template: string): number {
  return template.split("{").length - 1;
}

function buildOperation(
  validator: SchemaValidator,
  template: string,
  item: PathItem,
  operation: DocumentedOperation,
): Operation {
  const declared = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const parameters = declared
    .filter((parameter) => parameter.in === "query")
    .map(({ name, schema }) => [name, { name, type: schema.type }] as const);
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
    ([type, { schema }]) => [type, schema] as const,
  );
  const answers = Object.entries(operation.responses).flatMap(([code, { content }]) => {
    const schema = content?.["application/json"]?.schema;
    return schema === undefined ? [] : [[Number(code), schema] as const];
  });
  const lists = operation["x-kubernetes-action"] === "list";
  const read = item["get"]?.responses["200"]?.content?.["application/json"]?.schema;
  const isCollection = item["get"]?.["x-kubernetes-action"] === "list";
  return {
    validator,
    template,
    parameters: new Map(parameters),
    bodies: new Map(bodies),
    answers: new Map(answers),
    lists,
    object: read !== undefined && isCollection ? validator.locate(read, "/items/0") : read,
  };
}
