import { ConfigurationError } from "#cli/configuration-error.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";

/** What is to be explained, and in which cluster. */
export type Explained =
  | { readonly kind: "node"; readonly name: string; readonly cluster: string | undefined }
  | { readonly kind: "service"; readonly name: Required<ObjectName>; readonly cluster: string | undefined };

/**
 * Reads `NODE [CLUSTER]`, `node NAME [CLUSTER]` or `service NAMESPACE/NAME [CLUSTER]`. A node that is called `node` or `service` in a
 * cluster that is named has to be called by the second form.
 */
export function explainedBy([first = "", second, third]: readonly string[]): Explained {
  if (second === undefined) return { kind: "node", name: first, cluster: undefined };
  if (first === "service") return { kind: "service", name: nameOf(second), cluster: third };
  if (first === "node") return { kind: "node", name: second, cluster: third };
  if (third === undefined) return { kind: "node", name: first, cluster: second };
  const message = `is "${shown(first, MAX_NAME)}": node and service can be explained, or a node by its name alone`;
  throw new ConfigurationError([{ name: "what", message }]);
}

const MAX_NAME = 253;

function nameOf(text: string): Required<ObjectName> {
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0) return { namespace, name };
  const message = `is "${shown(text, MAX_NAME)}": NAMESPACE/NAME is expected, such as default/web`;
  throw new ConfigurationError([{ name: "service", message }]);
}
