/** The rule of a service model that a value breaks. */
export type Rule =
  /** A member, parameter or element that the model does not have. */
  | "unknown"
  | "required"
  | "type"
  | "enum"
  /** The length of a string. */
  | "length"
  /** The size of a list or map. */
  | "size"
  | "range"
  | "pattern"
  /** The form around the value: the document's root, its namespace, the HTTP status. */
  | "protocol"
  /** The code of an error that the operation does not return. */
  | "error";

/** Where a value was seen. */
export type Side = "request" | "answer";

/** A value that its service model does not allow. */
export interface Violation {
  /** Such as `elbv2:CreateListener`. */
  readonly operation: string;
  readonly side: Side;
  /** The member's path, such as `Tags[].Key`; empty for the whole value. */
  readonly path: string;
  readonly rule: Rule;
  /** The rule's limit, and the kind of the value. Never the value itself: it may be a secret. */
  readonly detail: string;
}

/** Receives what breaks a rule. */
export type Report = (path: string, rule: Rule, detail: string) => void;

/** Returns the identity of a violation, without the value's kind: `ec2:CreateVpc answer Vpc.Foo unknown`. */
export function formatViolationKey({
  operation,
  side,
  path,
  rule,
}: Pick<Violation, "operation" | "side" | "path" | "rule">): string {
  return `${operation} ${side} ${path} ${rule}`;
}

/** Returns a violation as one line. */
export function formatViolation({ operation, side, path, rule, detail }: Violation): string {
  return `${operation}, ${side}${path === "" ? "" : `, ${path}`}: ${rule}: ${detail}`;
}

/** Describes a value's kind without the value. */
export function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Date) return "a date";
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  switch (typeof value) {
    case "string":
      return `a string of ${value.length} characters`;
    case "object":
      return "a structure";
    default:
      return `a ${typeof value}`;
  }
}
