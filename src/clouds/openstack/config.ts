import * as z from "zod";
import { BaseURL, Switch } from "#clouds/config-fields.ts";
import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type { NodeAddress } from "#core/node/node.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

const Name = z.string().min(1).max(255);

const Names = z
  .union([Name.transform((name) => [name]), z.array(Name).min(1).max(20)], {
    error: "the name of a network, or several",
  })
  .optional();

/**
 * Configuration of a cluster on OpenStack, in the terms of its own controller. Password and secret are in a
 * file or in a store, never here.
 */
export const OpenStackCloudConfig = z
  .strictObject({
    provider: z.literal("openstack"),
    /** Keystone's URL, with or without `/v3`. */
    "auth-url": BaseURL,
    /** As in the catalogue; also the region label. */
    region: z
      .string()
      .max(63)
      .regex(/^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/, "a region such as RegionOne"),
    /** The type of the catalogue's endpoints. */
    "os-endpoint-type": z.enum(["public", "internal", "admin"]).default("public"),
    /** A file with the trusted certificates of Keystone, Nova and Neutron, as PEM. */
    "ca-file": z.string().min(1).optional(),
    "application-credential-id": Name.optional(),
    /** Belongs to the user in the same configuration. */
    "application-credential-name": Name.optional(),
    username: Name.optional(),
    "user-id": Name.optional(),
    "user-domain-name": Name.optional(),
    "user-domain-id": Name.optional(),
    /** Domain of user and tenant if these have none of their own. */
    "domain-name": Name.optional(),
    "domain-id": Name.optional(),
    "tenant-id": Name.optional(),
    "tenant-name": Name.optional(),
    "tenant-domain-name": Name.optional(),
    "tenant-domain-id": Name.optional(),
    /** A file with the secret of the application credential, or the password. */
    "secret-file": z.string().min(1).optional(),
    /** Reference to that secret, in place of a `secret-file`. */
    credentials: SecretReference.optional(),
    /** Whether provider IDs contain the region. */
    regional: Switch.default(false),
    /** Servers must have a port in this network. */
    "network-id": z
      .string()
      .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a network's UUID")
      .optional(),
    /** Servers must carry this tag; lists are filtered by it. */
    "server-tag": z
      .string()
      .regex(/^[^,/]{1,60}$/, "a tag of a server: at most 60 characters without , and /")
      .optional(),
    /** Servers must have all of these pairs. */
    "server-metadata": z
      .record(Name, z.string().max(255))
      .refine((pairs) => Object.keys(pairs).length > 0, "at least one pair of metadata")
      .optional(),
    /** Networks whose fixed addresses are external. */
    "public-network-name": Names,
    /** If set, addresses of other networks are left out. */
    "internal-network-name": Names,
    "ipv6-support-disabled": Switch.default(false),
    /** Comma-separated CIDR networks; addresses of the first one come first. */
    "address-sort-order": z
      .string()
      .refine(isSortOrder, "networks such as 10.0.0.0/8, 2001:db8::/32")
      .optional(),
    /** Maximum requests per second. */
    "requests-per-second": z.number().gt(0).max(1_000).default(10),
  })
  .superRefine((cloud, context) => {
    const addIssue = (key: string, message: string): void => {
      context.addIssue({ code: "custom", path: [key], message });
    };
    for (const [key, message] of listFaults(cloud)) addIssue(key, message);
  });
export type OpenStackCloudConfig = z.output<typeof OpenStackCloudConfig>;

/**
 * The environment variables with the secret if no `secret-file` is configured: of an application credential,
 * of a user.
 */
export const SECRET_VARIABLES = {
  applicationCredential: "OS_APPLICATION_CREDENTIAL_SECRET",
  password: "OS_PASSWORD",
} as const;

/** Whether an application credential signs in; user and tenant then have no effect. */
export function isByApplicationCredential(
  cloud: Pick<OpenStackCloudConfig, "application-credential-id" | "application-credential-name">,
): boolean {
  return (cloud["application-credential-id"] ?? cloud["application-credential-name"]) !== undefined;
}

type Parsed = z.output<typeof OpenStackCloudConfig>;

/** Lists missing and duplicate settings. */
function listFaults(cloud: Parsed): [string, string][] {
  const faults: [string, string][] = [];
  const hasAny = (...keys: (keyof Parsed)[]): boolean => keys.some((key) => cloud[key] !== undefined);
  if (!hasAny("network-id", "server-tag", "server-metadata"))
    faults.push([
      "network-id",
      "network-id, server-tag or server-metadata is required: without any, a server cannot be proven to belong to the cluster",
    ]);
  if (hasAny("secret-file") && hasAny("credentials"))
    faults.push(["credentials", "names the secret in addition to secret-file; remove one of the two"]);
  if (hasAny("application-credential-id")) return faults;
  if (!hasAny("username", "user-id")) {
    faults.push(["application-credential-id", "application-credential-id, username or user-id is required"]);
    return faults;
  }
  if (!hasAny("user-id", "user-domain-name", "user-domain-id", "domain-name", "domain-id"))
    faults.push(["user-domain-name", "is required with a username, because user names belong to a domain"]);
  if (hasAny("application-credential-name")) return faults;
  if (!hasAny("tenant-id", "tenant-name"))
    faults.push(["tenant-id", "tenant-id or tenant-name is required with a user"]);
  else if (!hasAny("tenant-id", "tenant-domain-name", "tenant-domain-id", "domain-name", "domain-id"))
    faults.push([
      "tenant-domain-name",
      "is required with a tenant-name, because tenant names belong to a domain",
    ]);
  return faults;
}

/** Whether a text is a comma-separated list of networks and addresses. */
function isSortOrder(text: string): boolean {
  return text.split(",").every((part) => parseNetwork(part.trim()) !== undefined);
}

/**
 * Sorts addresses by the order of networks; addresses outside of all networks come last, in their given
 * order.
 */
export function sortAddresses(addresses: readonly NodeAddress[], order: string): readonly NodeAddress[] {
  const networks = order.split(",").flatMap((part) => parseNetwork(part.trim()) ?? []);
  const rank = ({ address }: NodeAddress): number => {
    const host = parseNetwork(address);
    const index = host === undefined ? -1 : networks.findIndex((network) => isWithin(host, network));
    return index === -1 ? networks.length : index;
  };
  return addresses.toSorted((a, b) => rank(a) - rank(b));
}

/** An address counts as a network that contains only it. */
function parseNetwork(text: string): Cidr | undefined {
  const ip = parseIp(text);
  return ip === undefined
    ? parseCidr(text)
    : { family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 };
}
