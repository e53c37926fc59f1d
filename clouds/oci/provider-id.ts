import { isOcid } from "#clouds/oci/ocid.ts";

/** What a provider ID names: an instance, something of another cloud, or nothing. */
export type ProviderID =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

const SCHEME = "oci://";

/** Reads a provider ID: with the scheme, or the bare OCID that the kubelets of Oracle's own clusters are started with. */
export function parseProviderID(text: string): ProviderID {
  const isOurs = text.startsWith(SCHEME) || text.startsWith("ocid1.");
  if (!isOurs) return notOurs("foreign", text, "its scheme is not oci, and it is no OCID");
  const id = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  if (isOcid(id, "instance")) return { kind: "instance", id };
  return notOurs(
    "invalid",
    text,
    "it does not end in the OCID of an instance, which begins with ocid1.instance.",
  );
}

/** The form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

function notOurs(kind: "foreign" | "invalid", text: string, because: string): ProviderID {
  return { kind, message: `"${text.slice(0, 300)}" is not a provider ID of this cloud: ${because}` };
}
