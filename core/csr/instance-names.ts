import type { CertificateRequest } from "#core/csr/certificate-request.ts";
import type { Instance } from "#core/instance.ts";
import { isSameIp, parseIp } from "#core/ip.ts";
import { listRequestedNameFacts, type TenantFact } from "#core/tenant-fact.ts";

/**
 * Returns the names and addresses in a request that neither belong to the instance in the cloud nor are the
 * node's own name.
 */
export function listForeignNames(
  request: CertificateRequest,
  { addresses }: Instance,
  nodeName: string,
): TenantFact[] {
  const { dnsNames, ipAddresses } = listRequestedNameFacts(request);
  const own = new Set([nodeName, ...addresses.map(({ address }) => address.toLowerCase())]);
  const ownIps = addresses.flatMap(({ address }) => parseIp(address) ?? []);
  return [
    ...dnsNames.filter((name) => !own.has(name.toLowerCase()) || parseIp(name) !== undefined),
    ...ipAddresses.filter((address) => {
      const ip = parseIp(address);
      return ip === undefined || !ownIps.some((each) => isSameIp(each, ip));
    }),
  ];
}
