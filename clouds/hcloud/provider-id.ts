import type { ProviderID } from "#clouds/listed/query.ts";

const SCHEME = "hcloud://";

/**
 * Prefixes of dedicated servers' provider IDs. The second, older form is tested before that of cloud servers.
 */
const ROBOT = /^(hrobot:\/\/|hcloud:\/\/bm-)/;

/** Parses a provider ID. An id has up to 64 bits and stays text. */
export function parseProviderID(text: string): ProviderID {
  if (ROBOT.test(text))
    return rejectProviderID(
      "foreign",
      text,
      "it names a dedicated server, and Robot servers are not supported",
    );
  if (!text.startsWith(SCHEME)) return rejectProviderID("foreign", text, "its scheme is not hcloud");
  const id = text.slice(SCHEME.length);
  if (isServerId(id)) return { kind: "id", id };
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in a server's id, a whole number from 1 without leading zeros",
  );
}

/** Formats the form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

/** Whether a text is the id of a server; nothing else may become part of a path. */
export function isServerId(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text);
}

function rejectProviderID(kind: "foreign" | "invalid", text: string, reason: string): ProviderID {
  return { kind, message: `"${text.slice(0, 300)}" is not a provider ID of this cloud: ${reason}` };
}
