import { isOcid } from "#clouds/oci/regions.ts";

/** The meaning of a provider ID: an instance, a resource of another cloud, or nothing. */
export type ProviderID =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

const SCHEME = "oci://";

/**
 * Parses a provider ID: with the scheme, or the bare OCID with which kubelets of Oracle's own clusters start.
 */
export function parseProviderID(text: string): ProviderID {
  const isOurs = text.startsWith(SCHEME) || text.startsWith("ocid1.");
  if (!isOurs) return rejectProviderID("foreign", text, "its scheme is not oci, and it is no OCID");
  const id = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  if (isOcid(id, "instance")) return { kind: "instance", id };
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in the OCID of an instance, which begins with ocid1.instance.",
  );
}

/** Formats the form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

function rejectProviderID(kind: "foreign" | "invalid", text: string, because: string): ProviderID {
  return { kind, message: `"${text.slice(0, 300)}" is not a provider ID of this cloud: ${because}` };
}
