import type { LoadBalancerAttributes } from "@aws-sdk/client-elastic-load-balancing";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Builds the attributes that annotations request; the others have AWS's defaults. */
export function buildAttributes(annotations: Annotations): LoadBalancerAttributes {
  const prefix = annotations["access-log-s3-bucket-prefix"];
  return {
    AccessLog:
      annotations["access-log-enabled"] === true
        ? {
            Enabled: true,
            S3BucketName: annotations["access-log-s3-bucket-name"],
            ...(prefix === undefined ? {} : { S3BucketPrefix: prefix }),
            EmitInterval: annotations["access-log-emit-interval"] ?? 60,
          }
        : { Enabled: false },
    ConnectionDraining:
      annotations["connection-draining-enabled"] === true
        ? { Enabled: true, Timeout: annotations["connection-draining-timeout"] ?? 300 }
        : { Enabled: false },
    ConnectionSettings: { IdleTimeout: annotations["connection-idle-timeout"] ?? 60 },
    CrossZoneLoadBalancing: { Enabled: annotations["cross-zone-load-balancing-enabled"] === true },
  };
}

/** Attributes of a new load balancer on AWS. */
export const DEFAULT_ATTRIBUTES: LoadBalancerAttributes = buildAttributes({});

/**
 * Plans changes of attributes that differ from the desired ones, without the access log. Settings of a disabled
 * attribute are not compared.
 */
export function planAttributes(
  state: ClassicLoadBalancerState,
  { ConnectionDraining, ConnectionSettings, CrossZoneLoadBalancing }: LoadBalancerAttributes,
): readonly LoadBalancerAction[] {
  const { attributes: actual } = state;
  if (actual === undefined) return [];
  return planModification(state, {
    ...(isSameDraining(actual.ConnectionDraining, ConnectionDraining) ? {} : { ConnectionDraining }),
    ...(actual.ConnectionSettings?.IdleTimeout === ConnectionSettings?.IdleTimeout
      ? {}
      : { ConnectionSettings }),
    ...(actual.CrossZoneLoadBalancing?.Enabled === CrossZoneLoadBalancing?.Enabled
      ? {}
      : { CrossZoneLoadBalancing }),
  });
}

/** Plans the change of the access log, alone: AWS may reject its bucket. */
export function planAccessLog(
  state: ClassicLoadBalancerState,
  { AccessLog }: LoadBalancerAttributes,
): readonly LoadBalancerAction[] {
  const { attributes: actual } = state;
  if (actual === undefined) return [];
  return planModification(state, isSameLog(actual.AccessLog, AccessLog) ? {} : { AccessLog });
}

function planModification(
  { loadBalancer }: ClassicLoadBalancerState,
  changed: LoadBalancerAttributes,
): readonly LoadBalancerAction[] {
  if (Object.keys(changed).length === 0) return [];
  const name = loadBalancer.LoadBalancerName ?? "";
  const request = { LoadBalancerName: name, LoadBalancerAttributes: changed };
  return [buildAction("elb:ModifyLoadBalancerAttributes", name, request)];
}

type AccessLog = LoadBalancerAttributes["AccessLog"];
type ConnectionDraining = LoadBalancerAttributes["ConnectionDraining"];

function isSameLog(actual: AccessLog, desired: AccessLog): boolean {
  if (actual?.Enabled !== desired?.Enabled) return false;
  if (desired?.Enabled !== true) return true;
  return (
    actual?.S3BucketName === desired.S3BucketName &&
    (actual?.S3BucketPrefix ?? "") === (desired.S3BucketPrefix ?? "") &&
    actual?.EmitInterval === desired.EmitInterval
  );
}

function isSameDraining(actual: ConnectionDraining, desired: ConnectionDraining): boolean {
  if (actual?.Enabled !== desired?.Enabled) return false;
  return desired?.Enabled !== true || actual?.Timeout === desired.Timeout;
}
