import { ConfigurationError } from "#cli/configuration-error.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The object to explain, and its cluster. */
export type ExplainSubject =
  | { readonly kind: "node"; readonly name: string; readonly cluster: string | undefined }
  | { readonly kind: "service"; readonly name: Required<ObjectName>; readonly cluster: string | undefined };

/**
 * Parses `NODE [CLUSTER]`, `node NAME [CLUSTER]` or `service NAMESPACE/NAME [CLUSTER]`. A node named `node`
 * or `service` in a named cluster requires the second form.
 */
export function parseSubject([first = "", second, third]: readonly string[]): ExplainSubject {
  if (second === undefined) return { kind: "node", name: first, cluster: undefined };
  if (first === "service") return { kind: "service", name: parseServiceName(second), cluster: third };
  if (first === "node") return { kind: "node", name: second, cluster: third };
  if (third === undefined) return { kind: "node", name: first, cluster: second };
  const message = `is "${sanitizeText(first, MAX_SUBJECT)}": node and service can be explained, or a node by its name alone`;
  throw new ConfigurationError([{ name: "what", message }]);
}

const MAX_SUBJECT = 253;

function parseServiceName(text: string): Required<ObjectName> {
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0) return { namespace, name };
  const message = `is "${sanitizeText(text, MAX_SUBJECT)}": NAMESPACE/NAME is expected, such as default/web`;
  throw new ConfigurationError([{ name: "service", message }]);
}
