import { getShape, type ServiceModel, type Shape, type ShapeReference } from "./service-model.ts";
import { describeKind, type Report } from "./violation.ts";

/** The form of a value: as the SDK's commands take it, or as JSON on the wire. */
export type Form = "sdk" | "json";

/** Replaces a value whose text could not be read, and was reported. */
export const UNREADABLE: unique symbol = Symbol("unreadable");

/** Checks a value against a shape of a model, and reports what the shape does not allow. */
export function checkValue(
  model: ServiceModel,
  reference: ShapeReference,
  value: unknown,
  form: Form,
  report: Report,
  path = "",
): void {
  const shape = getShape(model, reference);
  if (value === UNREADABLE || shape.eventstream === true) return;
  switch (shape.type) {
    case "structure":
      if (isRecord(value)) checkStructure(model, shape, value, form, report, path);
      else report(path, "type", `a structure, not ${describeKind(value)}`);
      return;
    case "list":
      if (Array.isArray(value)) {
        checkWithin(shape, value.length, "size", report, path);
        if (shape.member !== undefined)
          for (const each of value) checkValue(model, shape.member, each, form, report, `${path}[]`);
      } else report(path, "type", `a list, not ${describeKind(value)}`);
      return;
    case "map":
      if (isRecord(value)) checkMap(model, shape, value, form, report, path);
      else report(path, "type", `a map, not ${describeKind(value)}`);
      return;
    case "string":
      // A member of this type may be JSON that the SDK serializes.
      if (typeof value === "string") checkString(shape, value, report, path);
      else report(path, "type", `a string, not ${describeKind(value)}`);
      return;
    case "integer":
    case "long":
      if (typeof value === "number" && Number.isInteger(value))
        checkWithin(shape, value, "range", report, path);
      else report(path, "type", `an integer, not ${describeKind(value)}`);
      return;
    case "float":
    case "double":
      if (typeof value === "number") checkWithin(shape, value, "range", report, path);
      else report(path, "type", `a number, not ${describeKind(value)}`);
      return;
    case "boolean":
      if (typeof value !== "boolean") report(path, "type", `a boolean, not ${describeKind(value)}`);
      return;
    case "timestamp":
      if (!isTimestamp(value, reference.timestampFormat ?? shape.timestampFormat, form))
        report(path, "type", `a timestamp, not ${describeKind(value)}`);
      return;
    case "blob":
      if (form === "sdk" ? !isBytes(value) : typeof value !== "string")
        report(path, "type", `bytes, not ${describeKind(value)}`);
      return;
  }
}

/** Returns a member's name on the wire in JSON and XML. */
export function getWireName(name: string, { locationName }: ShapeReference): string {
  return locationName ?? name;
}

function checkStructure(
  model: ServiceModel,
  { members = {}, required = [], union = false }: Shape,
  value: Readonly<Record<string, unknown>>,
  form: Form,
  report: Report,
  path: string,
): void {
  const names = new Map(
    Object.entries(members).map(([name, each]) => [form === "json" ? getWireName(name, each) : name, name]),
  );
  let present = 0;
  for (const [key, each] of Object.entries(value)) {
    // AWS and its SDKs treat null as a missing member.
    if (each === undefined || each === null) continue;
    present += 1;
    const name = names.get(key);
    const reference = name === undefined ? undefined : members[name];
    if (name === undefined || reference === undefined)
      report(join(path, key), "unknown", `no such member, with ${describeKind(each)}`);
    else checkValue(model, reference, each, form, report, join(path, name));
  }
  if (union && present !== 1) report(path, "required", `exactly one member of the union, not ${present}`);
  for (const name of required) {
    const reference = members[name];
    const key = form === "json" && reference !== undefined ? getWireName(name, reference) : name;
    if (value[key] !== undefined && value[key] !== null) continue;
    // The SDK sets a missing token when it serializes the request.
    if (form === "sdk" && reference?.idempotencyToken === true) continue;
    report(join(path, name), "required", "a required member, which is missing");
  }
}

function checkMap(
  model: ServiceModel,
  shape: Shape,
  value: Readonly<Record<string, unknown>>,
  form: Form,
  report: Report,
  path: string,
): void {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  checkWithin(shape, entries.length, "size", report, path);
  for (const [key, each] of entries) {
    if (shape.key !== undefined) checkValue(model, shape.key, key, form, report, `${path}{key}`);
    if (shape.value !== undefined) checkValue(model, shape.value, each, form, report, `${path}{}`);
  }
}

function checkString(shape: Shape, value: string, report: Report, path: string): void {
  if (shape.enum !== undefined && !shape.enum.includes(value))
    report(path, "enum", `one of ${shape.enum.length} values, not ${describeKind(value)}`);
  if (shape.min !== undefined || shape.max !== undefined)
    checkWithin(shape, [...value].length, "length", report, path);
  const pattern = shape.pattern === undefined ? undefined : compilePattern(shape.pattern);
  if (pattern?.test(value) === false)
    report(path, "pattern", `a match of ${shape.pattern}, not ${describeKind(value)}`);
}

function checkWithin(
  { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: Shape,
  actual: number,
  rule: "length" | "size" | "range",
  report: Report,
  path: string,
): void {
  if (actual < min) report(path, rule, `at least ${min}, not ${actual}`);
  if (actual > max) report(path, rule, `at most ${max}, not ${actual}`);
}

const PATTERNS = new Map<string, RegExp | undefined>();

/**
 * Compiles a model's pattern, which AWS matches against the whole string; undefined if it uses what only Java's
 * regular expressions have.
 */
export function compilePattern(pattern: string): RegExp | undefined {
  if (PATTERNS.has(pattern)) return PATTERNS.get(pattern);
  let compiled: RegExp | undefined;
  for (const flags of ["su", "s"]) {
    try {
      compiled = new RegExp(`^(?:${pattern})$`, flags);
      break;
    } catch {}
  }
  PATTERNS.set(pattern, compiled);
  return compiled;
}

/** Times are texts in XML and, unless the model says otherwise, seconds in JSON. */
function isTimestamp(value: unknown, format: string | undefined, form: Form): boolean {
  if (form === "sdk") return value instanceof Date && !Number.isNaN(value.getTime());
  if (format === undefined || format === "unixTimestamp") return typeof value === "number";
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function isBytes(value: unknown): boolean {
  // The SDK also takes texts and streams for a payload.
  return value instanceof Uint8Array || typeof value === "string" || isRecord(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
