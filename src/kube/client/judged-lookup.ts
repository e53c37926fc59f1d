import * as dns from "node:dns";
import * as net from "node:net";

/** Returns why an address must not be connected to; undefined if it is allowed. */
export type JudgeAddress = (address: string) => string | undefined;

/** The error code of a rejected name or address. */
const ADDRESS_REFUSED = "ERR_ADDRESS_REFUSED";

/**
 * Creates a DNS lookup for sockets that returns only allowed addresses. The socket connects to the judged
 * address, even if the name resolves differently a moment later.
 */
export function createJudgedLookup(
  judge: JudgeAddress,
  lookup: typeof dns.lookup = dns.lookup,
): net.LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const [first, ...others] = addresses.filter(({ address }) => judge(address) === undefined);
      if (first === undefined)
        return callback(
          createRefusedError(
            addresses.map(({ address }) => address),
            judge,
          ),
          "",
        );
      if (options.all === true) return callback(null, [first, ...others]);
      callback(null, first.address, first.family);
    });
  };
}

/**
 * Returns why a literal address is rejected; undefined for names, which are judged when they are resolved.
 */
export function checkLiteralAddress(host: string, judge: JudgeAddress | undefined): Error | undefined {
  if (judge === undefined || net.isIP(host) === 0 || judge(host) === undefined) return undefined;
  return createRefusedError([host], judge);
}

function createRefusedError(addresses: readonly string[], judge: JudgeAddress): Error {
  const because = addresses.map((address) => judge(address)).find((each) => each !== undefined);
  return Object.assign(new Error(because ?? "no address"), { code: ADDRESS_REFUSED });
}
