import type { Holding } from "#core/service/holdings.ts";
import type { Service } from "#core/service/service.ts";

const UID = /(?:^|[-/])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

/**
 * Returns the uid in the name of a load balancer or group, without dashes; undefined if the name holds none.
 */
export function parseUid(name: string): string | undefined {
  return UID.exec(name)?.[1]?.replaceAll("-", "");
}

/** Builds a Service that no longer exists from its remains. */
export function buildOrphanedService({ service = "", uid = "" }: Pick<Holding, "service" | "uid">): Service {
  const [namespace = "", name = ""] = service.split("/");
  return {
    metadata: {
      ...{ namespace, name, uid: uid.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") },
      resourceVersion: "0",
      creationTimestamp: new Date(0).toISOString(),
    },
    spec: {},
  };
}
