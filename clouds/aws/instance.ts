import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { instanceAddresses, interfaceAddresses } from "#clouds/aws/addresses.ts";
import type { Found } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { labelsOfTags } from "#clouds/aws/labels-from-tags.ts";
import { formatProviderID } from "#clouds/aws/provider-id.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Instance, InstanceState } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** An instance and what of its place EC2 told along with it; labels beyond its tags' are still to be added. */
export interface Facts {
  readonly instance: Instance;
  /** The zone's id, where the answer had it. */
  readonly zoneId: string | undefined;
}

/** Puts EC2's description in the words of all clouds; one that lacks what no instance lacks is `Unavailable`. */
export function factsOfInstance(found: Found, node: Node, config: AwsCloudConfig): Outcome<Facts> {
  const { instance, id } = found;
  const state = InstanceState.safeParse(instance.State?.Name);
  if (!state.success) return lacking(id, "state");
  const zone = instance.Placement?.AvailabilityZone;
  // Of a terminated instance nothing is needed but that it is terminated.
  if (!zone && state.data !== "terminated") return lacking(id, "zone");
  try {
    const facts: Instance = {
      id,
      account: found.account,
      network: instance.VpcId ?? "",
      state: state.data,
      providerID: node.spec.providerID || formatProviderID(zone ?? "", id),
      type: instance.InstanceType ?? "",
      zone: zone ?? "",
      region: config.region,
      addresses: instanceAddresses(instance, config.nodeIPFamilies),
      labels: labelsOfTags(instance.Tags, config.labelsFromTags),
    };
    return ok({ instance: facts, zoneId: instance.Placement?.AvailabilityZoneId });
  } catch (error) {
    return lacking(id, `addresses (${error})`);
  }
}

/** A Fargate node in the same words: it runs as long as its interface is attached, and has no instance type. */
export function factsOfInterface(eni: NetworkInterface, node: Node, config: AwsCloudConfig): Outcome<Facts> {
  const id = eni.NetworkInterfaceId;
  const zone = eni.AvailabilityZone;
  if (!id || !zone) return lacking(id ?? "a network interface", "zone");
  try {
    const facts: Instance = {
      id,
      account: eni.OwnerId ?? "",
      network: eni.VpcId ?? "",
      state: "running",
      providerID: node.spec.providerID ?? formatProviderID(zone, id),
      type: "",
      zone,
      region: config.region,
      addresses: interfaceAddresses(eni, config.nodeIPFamilies),
      labels: {},
    };
    return ok({ instance: facts, zoneId: eni.AvailabilityZoneId });
  } catch (error) {
    return lacking(id, `addresses (${error})`);
  }
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `EC2's description of ${id} lacks a valid ${what}`);
}
