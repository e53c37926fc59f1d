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
