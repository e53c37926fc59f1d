import { COMPARTMENT, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { type FakeRoute, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";

/** A VNIC as the fake keeps it; the address lists are derived from it. */
export interface FakeVnic {
  id: string;
  compartmentId: string;
  subnetId: string;
  isPrimary: boolean;
  privateIp: string | undefined;
  publicIp: string | undefined;
  /** Whether the public address is a reserved one. */
  reserved: boolean;
  /** The compartment of a reserved address. */
  publicIpCompartmentId: string;
  ipv6Addresses: string[];
  hostnameLabel: string | undefined;
  availabilityDomain: string;
  definedTags: Record<string, Record<string, string>>;
}

/** A subnet as the fake keeps it. */
export interface FakeSubnet {
  id: string;
  vcnId: string;
  compartmentId: string;
}

/** The virtual network service. */
export interface FakeNetwork {
  readonly vnics: Map<string, FakeVnic>;
  readonly subnets: Map<string, FakeSubnet>;
  readonly routes: readonly FakeRoute[];
  addSubnet(traits?: Partial<FakeSubnet>): FakeSubnet;
}

/** The first subnet, in the cluster's VCN. */
export const SUBNET = "ocid1.subnet.oc1.phx.s1";

export function createFakeNetwork(): FakeNetwork {
  const vnics = new Map<string, FakeVnic>();
  const subnets = new Map<string, FakeSubnet>();
  const of = (vnicsWanted: (vnic: FakeVnic) => boolean) => [...vnics.values()].filter(vnicsWanted);

  const publicIps = (scope: string, compartmentId: string, availabilityDomain: string | undefined) =>
    of(
      ({ publicIp, reserved, availabilityDomain: domain, ...vnic }) =>
        publicIp !== undefined &&
        reserved === (scope === "REGION") &&
        (reserved ? vnic.publicIpCompartmentId : vnic.compartmentId) === compartmentId &&
        (reserved || domain === availabilityDomain),
    ).map((vnic) => ({
      id: vnic.id.replace("vnic", "publicip"),
      ipAddress: vnic.publicIp,
      scope,
      lifetime: vnic.reserved ? "RESERVED" : "EPHEMERAL",
      lifecycleState: "ASSIGNED",
      assignedEntityType: "PRIVATE_IP",
      assignedEntityId: privateIpId(vnic),
    }));

  const routes: FakeRoute[] = [
    {
      method: "GET",
      path: /^\/20160918\/vcns\/([^/]+)$/,
      answer: (_, id = "") =>
        [...subnets.values()].some(({ vcnId }) => vcnId === id)
          ? { status: 200, body: { id, compartmentId: COMPARTMENT, ...VCN_REST } }
          : NOT_FOUND,
    },
    {
      method: "GET",
      path: /^\/20160918\/subnets\/([^/]+)$/,
      answer: (_, id = "") => {
        const subnet = subnets.get(id);
        return subnet === undefined ? NOT_FOUND : { status: 200, body: { ...subnet, ...SUBNET_REST } };
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/vnics\/([^/]+)$/,
      answer: (_, id = "") => {
        const vnic = vnics.get(id);
        return vnic === undefined ? NOT_FOUND : { status: 200, body: renderedVnic(vnic) };
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/privateIps$/,
      required: ["subnetId"],
      paged: true,
      answer: ({ query }) => {
        if (!subnets.has(query["subnetId"] ?? "")) return NOT_FOUND;
        return of(
          ({ subnetId, privateIp }) => subnetId === query["subnetId"] && privateIp !== undefined,
        ).flatMap((vnic) => [
          // A second address of the same VNIC, as pods have them.
          {
            id: `${privateIpId(vnic)}-2`,
            vnicId: vnic.id,
            subnetId: vnic.subnetId,
            ipAddress: "10.9.9.9",
            isPrimary: false,
          },
          {
            id: privateIpId(vnic),
            vnicId: vnic.id,
            subnetId: vnic.subnetId,
            ipAddress: vnic.privateIp,
            isPrimary: true,
            ...(vnic.hostnameLabel === undefined ? {} : { hostnameLabel: vnic.hostnameLabel }),
          },
        ]);
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/publicIps$/,
      required: ["scope", "compartmentId"],
      allowed: ["availabilityDomain"],
      paged: true,
      answer: ({ query }) => {
        const { scope = "", compartmentId = "", availabilityDomain } = query;
        const isZonal = scope === "AVAILABILITY_DOMAIN";
        if ((!isZonal && scope !== "REGION") || isZonal !== (availabilityDomain !== undefined))
          return { status: 400, body: { code: "InvalidParameter", message: "scope" } };
        return publicIps(scope, compartmentId, availabilityDomain);
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/ipv6$/,
      required: ["subnetId"],
      paged: true,
      answer: ({ query }) =>
        of(({ subnetId }) => subnetId === query["subnetId"]).flatMap((vnic) =>
          vnic.ipv6Addresses.map((ipAddress, index) => ({
            id: `${vnic.id.replace("vnic", "ipv6")}-${index}`,
            vnicId: vnic.id,
            subnetId: vnic.subnetId,
            ipAddress,
            compartmentId: vnic.compartmentId,
            displayName: `ipv6-${index}`,
            ...{ lifecycleState: "AVAILABLE", timeCreated: TIME },
          })),
        ),
    },
  ];

  const network: FakeNetwork = {
    vnics,
    subnets,
    routes,
    addSubnet(traits = {}) {
      const id = traits.id ?? `ocid1.subnet.oc1.phx.s${subnets.size + 1}`;
      const subnet = { vcnId: VCN, compartmentId: COMPARTMENT, ...traits, id };
      subnets.set(id, subnet);
      return subnet;
    },
  };
  network.addSubnet({ id: SUBNET });
  return network;
}

// Fields that this project does not read. Their names and types are those of Oracle's own client.

const TIME = "2026-01-01T00:00:00.000Z";
const VCN_REST = { lifecycleState: "AVAILABLE", cidrBlock: "10.0.0.0/16", cidrBlocks: ["10.0.0.0/16"] };
const SUBNET_REST = {
  ...{ cidrBlock: "10.0.0.0/16", lifecycleState: "AVAILABLE", virtualRouterMac: "00:00:17:B6:4D:DD" },
  routeTableId: "ocid1.routetable.oc1.phx.r1",
};

function privateIpId({ id }: FakeVnic): string {
  return id.replace("vnic", "privateip");
}

function renderedVnic({ reserved, publicIpCompartmentId, ipv6Addresses, ...vnic }: FakeVnic) {
  return {
    ...vnic,
    ...(ipv6Addresses.length === 0 ? {} : { ipv6Addresses }),
    ...{ lifecycleState: "AVAILABLE", skipSourceDestCheck: false, timeCreated: TIME },
  };
}
