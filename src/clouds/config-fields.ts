import * as z from "zod";

/** The URL of an API: https, or http to this machine. */
export const BaseURL = z
  .string()
  .refine((text) => URL.canParse(text), { error: "a URL", abort: true })
  .refine(isPlain, "a URL without user name, password, query and fragment")
  .refine(isSafe, "https is required, but for this very machine: what signs in would travel in the clear");

function isPlain(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return [username, password, search, hash].every((part) => part === "");
}

function isSafe(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  if (protocol === "https:") return true;
  return protocol === "http:" && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** The name of a Kubernetes object in a configuration. */
export const ObjectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "the name of an object of Kubernetes");

/** A boolean, also as the text of an environment variable. */
export const Switch = z.union(
  [
    z.boolean(),
    z
      .string()
      .regex(/^(true|false)$/i)
      .transform((text) => text.toLowerCase() === "true"),
  ],
  { error: "true or false" },
);
