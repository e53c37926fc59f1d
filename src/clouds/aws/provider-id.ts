import { isIPv4 } from "node:net";
import { type RejectedProviderID, rejectProviderID } from "#clouds/provider-id.ts";

/**
 * The meaning of a provider ID: an EC2 instance, a Fargate node by its IPv4 address, a resource of another
 * cloud, or nothing.
 */
export type ProviderID =
  | { readonly kind: "instance"; readonly id: string }
  | { readonly kind: "fargate"; readonly address: string }
  | RejectedProviderID;

/**
 * Parses a provider ID in any form that the stock controller accepts: only the last segment counts. Unlike
 * the stock controller, it never accepts the scheme of another cloud.
 */
export function parseProviderID(text: string): ProviderID {
  const token = getLastSegment(text);
  if (token === undefined) return rejectProviderID("foreign", text, "its scheme is not aws");
  if (isInstanceId(token)) return { kind: "instance", id: token };
  if (token.startsWith(FARGATE)) return parseFargate(text, token.slice(FARGATE.length));
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in an instance id (i-…) or a Fargate address (fargate-…)",
  );
}

/** Formats the canonical form, the only one that is written. */
export function formatProviderID(zone: string, id: string): string {
  return `aws:///${zone}/${id}`;
}

/**
 * Whether a text can be an instance id. EC2's ids are `i-` and 8 or 17 hexadecimal digits. All letters,
 * digits and dashes are accepted, because emulators' ids differ and an unknown id costs nothing. `*`, `?` and
 * `\` are rejected: they are wildcards in a filter, with which a node could claim another cluster's instance.
 */
export function isInstanceId(text: string): boolean {
  return /^i-[0-9A-Za-z-]{1,64}$/.test(text);
}

const FARGATE = "fargate-";

/**
 * Returns the last segment. Without a scheme the text is a path; with `aws://` the part up to the next slash
 * is skipped as the authority.
 */
function getLastSegment(text: string): string | undefined {
  const [, scheme, rest] = /^([^/]*:\/\/)?(.*)$/s.exec(text) ?? [];
  if (scheme !== undefined && scheme !== "aws://") return undefined;
  const segments = (rest ?? "").split("/");
  const path = scheme === undefined ? segments : segments.slice(1);
  return path.findLast((segment) => segment !== "") ?? "";
}

/** `fargate-ip-10-0-0-1.<suffix>` or `fargate-10.0.0.1`. */
function parseFargate(text: string, endpoint: string): ProviderID {
  const [label = ""] = endpoint.split(".");
  const address = label.startsWith("ip-") ? label.slice("ip-".length).replaceAll("-", ".") : endpoint;
  return isIPv4(address)
    ? { kind: "fargate", address }
    : rejectProviderID("invalid", text, "it names no IPv4 address");
}
