/** A schema object of OpenAPI 3.0, with the keywords that kube-apiserver's documents use. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[];
}

/** The name of a kind, as objects have it in `apiVersion` and `kind`. */
interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The schemas of a document by name, as in `components.schemas`. */
export type Schemas = Readonly<Record<string, Schema>>;

/** A part of a value that its schema does not allow. */
export interface SchemaIssue {
  /** JSON pointer (RFC 6901) of the part. */
  readonly pointer: string;
  /** The keyword, such as `required`, and what it demands. */
  readonly rule: string;
}

/**
 * What a value is. `sent` is a whole object in a request, `answered` one in an answer, where Go's encoder has its
 * own forms of times. `merged` is a merge patch: null deletes, nothing is required, and its lists are whole.
 */
export type ValueRole = "sent" | "answered" | "merged";

/** Adds the issues of a value below a pointer. */
type Check = (value: unknown, pointer: string, role: ValueRole, issues: SchemaIssue[]) => void;

const REFERENCE = "#/components/schemas/";

/**
 * Validates values by the schemas of one document. An object with `properties` has no other members, although
 * OpenAPI would allow them. Lists may repeat the keys of `x-kubernetes-list-map-keys`: kube-apiserver itself accepts
 * several addresses of one type, whose list has such a key.
 */
export class SchemaValidator {
  readonly #schemas: Schemas;
  readonly #named = new Map<string, Check>();
  readonly #anonymous = new WeakMap<Schema, Check>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  /** Returns the issues of a value. */
  validate(schema: Schema, value: unknown, role: ValueRole, pointer = ""): readonly SchemaIssue[] {
    const issues: SchemaIssue[] = [];
    this.#compile(schema)(value, pointer, role, issues);
    return issues;
  }

  /**
   * Returns the schema of what a JSON pointer addresses: a member, a map's value or a list's item. Returns undefined
   * without such a member, and `{}`, which allows everything, where the schema says nothing.
   */
  locate(schema: Schema, pointer: string): Schema | undefined {
    const parts = pointer.split("/").slice(1);
    return parts.reduce<Schema | undefined>(
      (at, part) => at && this.#step(this.#resolve(at), part.replaceAll("~1", "/").replaceAll("~0", "~")),
      schema,
    );
  }

  /** Returns the kinds of which the schema is, each as `apiVersion kind`. */
  listKinds(schema: Schema): readonly string[] {
    const kinds = this.#resolve(schema)["x-kubernetes-group-version-kind"] ?? [];
    return kinds.map(
      ({ group, version, kind }) => `${group === "" ? version : `${group}/${version}`} ${kind}`,
    );
  }

  #step(schema: Schema, part: string): Schema | undefined {
    const { properties, additionalProperties, items, type } = schema;
    if (type === "array") return /^(-|-?\d+)$/.test(part) ? (items ?? {}) : undefined;
    if (properties !== undefined && Object.hasOwn(properties, part)) return properties[part];
    if (typeof additionalProperties === "object") return additionalProperties;
    if (type !== undefined && type !== "object") return undefined;
    return isOpen(schema) ? {} : undefined;
  }

  /** Follows references, including the only member of `allOf`. */
  #resolve(schema: Schema): Schema {
    if (schema.$ref !== undefined) return this.#resolve(this.#find(schema.$ref));
    const [only, ...others] = schema.allOf ?? [];
    return only !== undefined && others.length === 0 && schema.type === undefined
      ? this.#resolve(only)
      : schema;
  }

  #find(reference: string): Schema {
    const schema = this.#schemas[reference.slice(REFERENCE.length)];
    if (!reference.startsWith(REFERENCE) || schema === undefined)
      throw new Error(`the document has no schema ${reference}`);
    return schema;
  }

  #compile(schema: Schema): Check {
    if (schema.$ref !== undefined) return this.#compileNamed(schema.$ref);
    const known = this.#anonymous.get(schema);
    if (known !== undefined) return known;
    const checks = [
      ...(schema.allOf ?? []).map((each) => this.#compile(each)),
      ...(schema.oneOf === undefined ? [] : [this.#compileOneOf(schema.oneOf)]),
      ...(schema.enum === undefined ? [] : [compileEnum(schema.enum)]),
      ...this.#compileType(schema),
    ];
    const [first = () => {}] = checks;
    const check: Check =
      checks.length <= 1
        ? first
        : (...value) => {
            for (const each of checks) each(...value);
          };
    this.#anonymous.set(schema, check);
    return check;
  }

  // Schemas refer to each other in circles, so a reference is compiled at its first use.
  #compileNamed(reference: string): Check {
    const known = this.#named.get(reference);
    if (known !== undefined) return known;
    let compiled: Check | undefined;
    const check: Check = (...value) => {
      compiled ??= reference.endsWith(".MicroTime")
        ? checkMicroTime
        : reference.endsWith(".api.resource.Quantity")
          ? checkQuantity
          : this.#compile(this.#find(reference));
      compiled(...value);
    };
    this.#named.set(reference, check);
    return check;
  }

  #compileOneOf(schemas: readonly Schema[]): Check {
    const types = schemas.map(({ type = "null" }) => type);
    return (value, pointer, role, issues) => {
      const found = schemas.map((each) => this.validate(each, value, role, pointer));
      if (found.some(({ length }) => length === 0)) return;
      const ofType = found[types.indexOf(nameType(value) as (typeof types)[number])];
      issues.push(
        ...(ofType ?? [{ pointer, rule: `oneOf: ${types.join(" or ")}, found ${nameType(value)}` }]),
      );
    };
  }

  #compileType(schema: Schema): readonly Check[] {
    switch (schema.type) {
      case undefined:
        return [];
      case "object":
        return [this.#compileObject(schema)];
      case "array":
        return [this.#compileArray(schema.items ?? {})];
      case "string":
        return [compileString(schema.format)];
      case "integer":
        return [compileInteger(schema.format)];
      case "number":
      case "boolean":
        return [compilePrimitive(schema.type)];
      default:
        return schema.type satisfies never;
    }
  }

  #compileObject(schema: Schema): Check {
    const { properties = {}, additionalProperties, required = [] } = schema;
    const members = new Map(Object.entries(properties).map(([name, each]) => [name, this.#compile(each)]));
    const others = typeof additionalProperties === "object" ? this.#compile(additionalProperties) : undefined;
    const open = isOpen(schema);
    return (value, pointer, role, issues) => {
      if (!isObject(value)) {
        issues.push({ pointer, rule: `type: object, found ${nameType(value)}` });
        return;
      }
      for (const [name, member] of Object.entries(value)) {
        const check = members.get(name) ?? others;
        if (check === undefined) {
          if (!open) issues.push({ pointer: join(pointer, name), rule: "unknown field" });
        } else if (member !== null || role !== "merged") check(member, join(pointer, name), role, issues);
      }
      if (role === "merged") return;
      for (const name of required) {
        if (!Object.hasOwn(value, name)) issues.push({ pointer: join(pointer, name), rule: "required" });
      }
    };
  }

  #compileArray(items: Schema): Check {
    const check = this.#compile(items);
    return (value, pointer, role, issues) => {
      if (!Array.isArray(value)) {
        issues.push({ pointer, rule: `type: array, found ${nameType(value)}` });
        return;
      }
      // A merge patch replaces a list, so its items are whole.
      const whole = role === "merged" ? "sent" : role;
      value.forEach((item, index) => {
        check(item, `${pointer}/${index}`, whole, issues);
      });
    };
  }
}

function isOpen(schema: Schema): boolean {
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return true;
  return schema.properties === undefined && schema.additionalProperties === undefined;
}

function compileEnum(values: readonly unknown[]): Check {
  return (value, pointer, _role, issues) => {
    if (!values.includes(value))
      issues.push({ pointer, rule: `enum: ${values.join(", ")}, found ${JSON.stringify(value)}` });
  };
}

function compilePrimitive(type: "number" | "boolean" | "string"): Check {
  return (value, pointer, _role, issues) => {
    if (typeof value !== type) issues.push({ pointer, rule: `type: ${type}, found ${nameType(value)}` });
  };
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function compileString(format: string | undefined): Check {
  if (format === "date-time") return checkTime;
  const check = compilePrimitive("string");
  if (format !== "byte") return check;
  return (value, pointer, role, issues) => {
    // Go encodes missing bytes as null, such as those in a bookmark.
    if (value === null && role === "answered") return;
    if (typeof value !== "string") check(value, pointer, role, issues);
    else if (!BASE64.test(value)) issues.push({ pointer, rule: "format: byte, which is base64" });
  };
}

function compileInteger(format: string | undefined): Check {
  const limit = format === "int32" ? 2 ** 31 : 2 ** 63;
  return (value, pointer, _role, issues) => {
    if (typeof value !== "number" || !Number.isInteger(value))
      issues.push({ pointer, rule: `type: integer, found ${nameType(value)}` });
    else if (value < -limit || value >= limit)
      issues.push({ pointer, rule: `format: ${format}, found ${value}` });
  };
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
/** Go encodes a Time in UTC without fractions, and a MicroTime with six digits. */
const ANSWERED_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

const checkTime: Check = (value, pointer, role, issues) => {
  const form = role === "answered" ? ANSWERED_TIME : RFC3339;
  checkTimeForm(value, pointer, form, issues);
};

const checkMicroTime: Check = (value, pointer, _role, issues) => {
  checkTimeForm(value, pointer, MICRO_TIME, issues);
};

function checkTimeForm(value: unknown, pointer: string, form: RegExp, issues: SchemaIssue[]): void {
  // The zero time is null, also where the document says only `type: string`.
  if (value === null) return;
  if (typeof value !== "string") issues.push({ pointer, rule: `type: string, found ${nameType(value)}` });
  else if (!form.test(value) || Number.isNaN(Date.parse(value)))
    issues.push({ pointer, rule: `format: date-time as ${form.source}, found ${JSON.stringify(value)}` });
}

const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

const checkQuantity: Check = (value, pointer, role, issues) => {
  if (typeof value === "string" ? QUANTITY.test(value) : typeof value === "number" && role !== "answered")
    return;
  issues.push({ pointer, rule: `a quantity such as 500Mi, found ${JSON.stringify(value)}` });
};

function join(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function nameType(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
