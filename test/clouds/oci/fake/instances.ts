import { COMPARTMENT } from "#test/clouds/oci/fake/credentials.ts";
import { type FakeNetwork, type FakeVnic, SUBNET } from "#test/clouds/oci/fake/network.ts";
import { type FakeRoute, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";

/** An instance as the fake keeps it. */
export interface FakeInstance {
  id: string;
  compartmentId: string;
  displayName: string;
  shape: string;
  region: string;
  availabilityDomain: string;
  faultDomain: string | undefined;
  lifecycleState: string;
  definedTags: Record<string, Record<string, string>>;
  /** Neither listed nor read. */
  hidden: boolean;
}

/** The attachment of a VNIC to an instance. */
export interface FakeAttachment {
  id: string;
  compartmentId: string;
  instanceId: string;
  vnicId: string | undefined;
  subnetId: string;
  lifecycleState: string;
  availabilityDomain: string;
  timeCreated: string;
}

/** The fields of an instance and its primary VNIC that matter to a test. */
export interface FakeMachine extends Partial<FakeInstance> {
  readonly vnic?: Partial<FakeVnic> | undefined;
}

/** The compute service. */
export interface FakeInstances {
  readonly instances: Map<string, FakeInstance>;
  readonly attachments: FakeAttachment[];
  readonly routes: readonly FakeRoute[];
  /** Adds a running instance with its primary VNIC. */
  add(traits?: FakeMachine): FakeInstance;
  /** Adds another VNIC to an instance. */
  attach(instance: FakeInstance, traits?: Partial<FakeVnic>): FakeVnic;
  /** Returns the primary VNIC of an instance, or its first one. */
  vnicOf(instance: FakeInstance): FakeVnic;
  /** Terminates an instance: it stays listed as TERMINATED, and its VNIC is gone. */
  terminate(instance: FakeInstance): void;
}

export function createFakeInstances(network: FakeNetwork): FakeInstances {
  const instances = new Map<string, FakeInstance>();
  const attachments: FakeAttachment[] = [];
  let machines = 0;

  const shown = ({ hidden: _, ...instance }: FakeInstance) => ({
    ...instance,
    freeformTags: {},
    imageId: "ocid1.image.oc1.phx.i",
    timeCreated: "2026-01-01T00:00:00.000Z",
  });

  const routes: FakeRoute[] = [
    {
      method: "GET",
      path: /^\/20160918\/instances$/,
      required: ["compartmentId"],
      allowed: ["displayName", "availabilityDomain", "lifecycleState"],
      paged: true,
      answer: ({ query }) =>
        [...instances.values()]
          .filter(
            ({ compartmentId, displayName, hidden }) =>
              !hidden &&
              compartmentId === query["compartmentId"] &&
              (query["displayName"] === undefined || displayName === query["displayName"]),
          )
          .map(shown),
    },
    {
      method: "GET",
      path: /^\/20160918\/instances\/([^/]+)$/,
      answer: (_, id = "") => {
        const instance = instances.get(id);
        return instance === undefined || instance.hidden ? NOT_FOUND : { status: 200, body: shown(instance) };
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/vnicAttachments$/,
      required: ["compartmentId"],
      allowed: ["instanceId", "vnicId", "availabilityDomain"],
      paged: true,
      answer: ({ query }) =>
        attachments.filter(
          ({ compartmentId, instanceId, vnicId }) =>
            compartmentId === query["compartmentId"] &&
            (query["instanceId"] === undefined || instanceId === query["instanceId"]) &&
            (query["vnicId"] === undefined || vnicId === query["vnicId"]),
        ),
    },
  ];

  function attach(instance: FakeInstance, traits: Partial<FakeVnic> = {}): FakeVnic {
    const number = attachments.length + 1;
    const id = traits.id ?? `ocid1.vnic.oc1.phx.n${number}`;
    const [high, low] = [Math.floor(number / 250), (number % 250) + 1];
    const vnic: FakeVnic = {
      compartmentId: instance.compartmentId,
      subnetId: SUBNET,
      isPrimary: false,
      privateIp: `10.0.${high}.${low}`,
      publicIp: undefined,
      reserved: false,
      publicIpCompartmentId: instance.compartmentId,
      ipv6Addresses: [],
      hostnameLabel: undefined,
      availabilityDomain: instance.availabilityDomain,
      definedTags: {},
      ...traits,
      id,
    };
    network.vnics.set(id, vnic);
    attachments.push({
      id: id.replace("vnic", "vnicattachment"),
      compartmentId: instance.compartmentId,
      instanceId: instance.id,
      vnicId: id,
      subnetId: vnic.subnetId,
      lifecycleState: "ATTACHED",
      availabilityDomain: instance.availabilityDomain,
      timeCreated: new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString(),
    });
    return vnic;
  }

  const vnicsOf = ({ id }: FakeInstance): FakeVnic[] =>
    attachments.flatMap(({ instanceId, vnicId = "" }) =>
      instanceId === id ? (network.vnics.get(vnicId) ?? []) : [],
    );

  return {
    instances,
    attachments,
    routes,
    attach,
    add({ vnic, ...traits } = {}) {
      machines += 1;
      const id = traits.id ?? `ocid1.instance.oc1.phx.i${machines}`;
      const instance: FakeInstance = {
        compartmentId: COMPARTMENT,
        displayName: `node-${machines}`,
        shape: "VM.Standard.E5.Flex",
        region: "phx",
        availabilityDomain: "NWuj:PHX-AD-1",
        faultDomain: "FAULT-DOMAIN-2",
        lifecycleState: "RUNNING",
        definedTags: {},
        hidden: false,
        ...traits,
        id,
      };
      instances.set(id, instance);
      attach(instance, { isPrimary: true, hostnameLabel: instance.displayName, ...vnic });
      return instance;
    },
    vnicOf(instance) {
      const vnics = vnicsOf(instance);
      const vnic = vnics.find(({ isPrimary }) => isPrimary) ?? vnics[0];
      if (vnic === undefined) throw new Error(`${instance.id} has no VNIC`);
      return vnic;
    },
    terminate(instance) {
      instance.lifecycleState = "TERMINATED";
      for (const attachment of attachments) {
        if (attachment.instanceId !== instance.id) continue;
        attachment.lifecycleState = "DETACHED";
        network.vnics.delete(attachment.vnicId ?? "");
      }
    },
  };
}
