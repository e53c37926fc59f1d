import { createKubeletCsrController } from "#core/look-ahead/controller.ts";

const REQUEST = /^-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/;

/** The DER of the attribute type commonName (2.5.4.3). */
const COMMON_NAME = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x03]);

/** The DER tags UTF8String and PrintableString. */
const STRING_TAGS: readonly number[] = [0x0c, 0x13];

/** A node's user name: one byte is enough for the length of shorter ones, and longer ones are not looked up. */
const NODE_USER = /^system:node:([a-z0-9][-.a-z0-9]{0,100}[a-z0-9])$/;

/** The companion of the cloud-node-controller that looks up machines whose kubelets request a certificate. */
export const kubeletCsrController = createKubeletCsrController(readNodeName);

/**
 * Returns the name of the node in a kubelet's certificate request; undefined without one. It reads the
 * first common name and parses nothing else: a name that is wrong only has another machine of the cluster
 * looked up, which serves no node but that machine's own.
 */
export function readNodeName(request: string): string | undefined {
  const [, base64] = REQUEST.exec(Buffer.from(request, "base64").toString("latin1")) ?? [];
  if (base64 === undefined) return undefined;
  const der = Buffer.from(base64, "base64");
  const at = der.indexOf(COMMON_NAME) + COMMON_NAME.length;
  const [tag, length] = [der[at], der[at + 1]];
  if (at < COMMON_NAME.length || tag === undefined || length === undefined) return undefined;
  if (!STRING_TAGS.includes(tag) || length >= 0x80) return undefined;
  return NODE_USER.exec(der.toString("latin1", at + 2, at + 2 + length))?.[1];
}
