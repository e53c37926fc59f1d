import * as dns from "node:dns";
import * as net from "node:net";

/** Says why an address is not to be connected to; undefined where it may be. */
export type JudgeAddress = (address: string) => string | undefined;

/** The code of the error of a name, or of an address, that may not be connected to. */
const ADDRESS_REFUSED = "ERR_ADDRESS_REFUSED";

/**
 * Looks names up for a socket and hands it those addresses alone that may be connected to: what was judged is what is connected to,
 * whatever the name resolves to a moment later.
 */
export function judgedLookup(
  judge: JudgeAddress,
  lookup: typeof dns.lookup = dns.lookup,
): net.LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const [first, ...others] = addresses.filter(({ address }) => judge(address) === undefined);
      if (first === undefined)
        return callback(
          refused(
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

/** Why an address that is written out may not be connected to; undefined for names, which are judged when they are looked up. */
export function refusalOfLiteral(host: string, judge: JudgeAddress | undefined): Error | undefined {
  if (judge === undefined || net.isIP(host) === 0 || judge(host) === undefined) return undefined;
  return refused([host], judge);
}

function refused(addresses: readonly string[], judge: JudgeAddress): Error {
  const because = addresses.map((address) => judge(address)).find((each) => each !== undefined);
  return Object.assign(new Error(because ?? "no address"), { code: ADDRESS_REFUSED });
}
