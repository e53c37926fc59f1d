import { UNREADABLE } from "./check-value.ts";
import type { Shape } from "./service-model.ts";
import { describeKind, type Report } from "./violation.ts";

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;
/** Dates of ISO 8601 and of HTTP headers begin so. */
const DATE = /^(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2}, \d)/;

/** Converts a text of a form, header or XML element to the value of a shape; reports one of another type. */
export function parseScalar({ type }: Shape, text: string, path: string, report: Report): unknown {
  const refuse = (wanted: string): typeof UNREADABLE => {
    report(path, "type", `${wanted}, not ${describeKind(text)}`);
    return UNREADABLE;
  };
  switch (type) {
    case "string":
      return text;
    case "integer":
    case "long":
      return INTEGER.test(text) ? Number(text) : refuse("an integer");
    case "float":
    case "double":
      return NUMBER.test(text) ? Number(text) : refuse("a number");
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : refuse("true or false");
    case "timestamp":
      return DATE.test(text) && !Number.isNaN(Date.parse(text)) ? new Date(text) : refuse("a timestamp");
    case "blob":
      return BASE64.test(text) ? Buffer.from(text, "base64") : refuse("base64");
    case "structure":
    case "list":
    case "map":
      return refuse(`a ${type}`);
  }
}
