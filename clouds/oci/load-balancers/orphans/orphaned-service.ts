import type { Holding } from "#core/service/holdings.ts";
import type { Service } from "#core/service/service.ts";

const UID = /(?:^|[-/])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

/** The uid of the Service that a load balancer or a group was called after, without dashes; undefined where no uid makes its name. */
export function uidInName(name: string): string | undefined {
  return UID.exec(name)?.[1]?.replaceAll("-", "");
}

/** A Service that has gone, as far as what is left of it tells. */
export function orphanedService({ service = "", uid = "" }: Pick<Holding, "service" | "uid">): Service {
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
