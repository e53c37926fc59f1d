import { getSystemCode } from "#kube/client/errors.ts";

/** What to do about each system error code. */
const WHAT_TO_DO: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use already; end what listens there, or give another --port (0 picks a free one)",
  EADDRNOTAVAIL: "is no address of this machine; give --bind-address one that is",
  EACCES: "may not be listened on by this user; give --port one above 1023",
  ENOTFOUND: "cannot be resolved; give --bind-address an IP address",
};

/** Returns an error that says why the address cannot be bound and what to do; any other error unchanged. */
export function toListenError(error: unknown, bindAddress: string, port: number): unknown {
  const code = getSystemCode(error) ?? "";
  const words = WHAT_TO_DO[code];
  if (words === undefined) return error;
  return new Error(`${bindAddress} port ${port} ${words} (${code})`, { cause: error });
}
