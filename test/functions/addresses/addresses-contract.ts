import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ADDRESSES_ANNOTATION, CHOSEN_ANNOTATION } from "#clouds/kubevip/load-balancers/holders.ts";
import { CONTROL_PLANE_USERS, type ControlPlane } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { createKeepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { createKubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import type { BuildWorld } from "#test/clouds/load-balancer-world.ts";
import { buildService } from "#test/clouds/service-builders.ts";
import { settle } from "#test/crash-consistency/play.ts";
import { type Stage, type StagePlane, startStage } from "#test/crash-consistency/stage.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const TIMEOUT_MS = 120_000;
const WEB = { cloud: {}, names: ["web"] };
const SERVICE = "/api/v1/namespaces/default/services/web";
const VIPS = "/api/v1/namespaces/kube-system/configmaps/vip-configmap";
const JSON_PATCH = "application/json-patch+json";
const add = (path: string, value: unknown) => ({ op: "add", path, value });

interface Stored {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly loadBalancerIP?: string };
  readonly data: Readonly<Record<string, string>>;
}

/** The whole life of a Service through the function, which signs in as itself. */
export function describeAddresses(
  name: string,
  start: (folder: string) => Promise<StagePlane>,
  { hasPolicies }: { readonly hasPolicies: boolean },
): void {
  describe(`addresses on ${name}`, { timeout: TIMEOUT_MS }, () => {
    const staged = (build: BuildWorld) => {
      let stage: Stage | undefined;
      let plane: ControlPlane | undefined;
      let admin: Transport | undefined;
      let function_: Transport | undefined;
      beforeAll(async () => {
        stage = await startStage(build, async (folder) => {
          const started = await start(folder);
          plane = started.plane;
          return started;
        });
        if (plane === undefined) throw new Error("no control plane");
        admin = connect(await getConnectOptions(plane, "admin"));
        function_ = connect(await getConnectOptions(plane, "service"));
      }, TIMEOUT_MS);
      afterAll(async () => {
        await Promise.all([admin?.close(), function_?.close()]);
        await stage?.close();
      });
      beforeEach(async () => {
        await stage?.clear();
        await stage?.objects.setNodes(stage.world.nodes.slice(0, 2));
      });
      return {
        stage: () => stage as Stage,
        plane: () => plane as ControlPlane,
        get: async (path: string) =>
          (await askForJson(admin as Transport, { method: "GET", path })) as Stored,
        /** As another client with all permissions. */
        merge: (path: string, body: object) =>
          askForJson(admin as Transport, {
            method: "PATCH",
            path,
            body,
            contentType: "application/merge-patch+json",
          }),
        /** As the function. */
        async patch(path: string, body: readonly unknown[]): Promise<readonly [number, string]> {
          const answer = await (function_ as Transport).send({
            method: "PATCH",
            path,
            body,
            contentType: JSON_PATCH,
          });
          return [answer.status, answer.status < 300 ? "" : String(JSON.parse(answer.body).message)];
        },
        settled: async () => expect((await settle(stage as Stage, WEB)).issues).toEqual([]),
        ips: async () =>
          ((await (stage as Stage).objects.read())?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip),
        async usedRights() {
          const record = await (plane as ControlPlane).record();
          const own = record.filter(({ user }) => user === CONTROL_PLANE_USERS.service.name);
          expect(own.filter(({ code }) => code === 403)).toEqual([]);
          return listUsedRights(record, CONTROL_PLANE_USERS.service.name);
        },
      };
    };

    describe("keepalived", () => {
      const { stage, get, patch, settled, ips, usedRights } = staged(createKeepalivedWorld);

      test("an address is assigned, gets a method, moves, is refused if another Service has it, and is released", async () => {
        const { objects, world } = stage();
        const service = (await objects.create(buildService(world))) as {
          readonly metadata: { readonly uid: string };
        };
        await settled();
        expect(await ips()).toEqual(["10.210.0.2"]);
        const own = (ip: string, method = "") =>
          `{"uid":"${service.metadata.uid}","ip":"${ip}","serviceNamespace":"default","serviceName":"web"${method}}`;
        const text = (entry: string) =>
          `{"services":[{"uid":"11111111-2222-3333-4444-555555555555","ip":"10.210.0.1","serviceNamespace":"other","serviceName":"web","forwardMethod":"NAT"}${entry}]}`;
        const stateOf = async () => {
          const { metadata, data } = await get(VIPS);
          return [metadata.annotations["k8s.co/cloud-provider-config"], data];
        };
        const foreign = { "10.210.0.1": "other/web:NAT" };
        expect(await stateOf()).toEqual([
          text(`,${own("10.210.0.2")}`),
          { ...foreign, "10.210.0.2": "default/web" },
        ]);

        await objects.merge({ metadata: { annotations: { "k8s.co/keepalived-forward-method": "DR" } } });
        await settled();
        const DR = ',"forwardMethod":"DR"';
        expect(await stateOf()).toEqual([
          text(`,${own("10.210.0.2", DR)}`),
          { ...foreign, "10.210.0.2": "default/web:DR" },
        ]);

        await objects.merge({ spec: { loadBalancerIP: "10.210.0.77" } });
        await settled();
        expect(await ips()).toEqual(["10.210.0.77"]);
        expect(await stateOf()).toEqual([
          text(`,${own("10.210.0.77", DR)}`),
          { ...foreign, "10.210.0.77": "default/web:DR" },
        ]);

        const { resourceVersion } = (await get(VIPS)).metadata;
        await objects.merge({ spec: { loadBalancerIP: "10.210.0.1" } });
        const { report } = await stage().invoke();
        expect(report).toMatchObject({ outcome: "retry", because: { code: "AddressInUse" } });
        expect((await get(VIPS)).metadata.resourceVersion).toBe(resourceVersion);
        expect(await ips()).toEqual(["10.210.0.77"]);
        await objects.merge({ spec: { loadBalancerIP: null } });
        await settled();
        expect((await get(VIPS)).metadata.resourceVersion).toBe(resourceVersion);

        await objects.delete();
        await settled();
        expect(await objects.read()).toBeUndefined();
        expect(await stateOf()).toEqual([text(""), foreign]);
      });

      test("its rights are those that are granted", async () => {
        await stage().objects.create(buildService(stage().world));
        await settled();
        expect(await usedRights()).toEqual(
          expect.arrayContaining([
            "get configmaps",
            "patch configmaps",
            "get services",
            "patch services/status",
          ]),
        );
        expect(await usedRights()).not.toContain("patch services");
      });

      test.runIf(hasPolicies)("writes only the fields of the ConfigMap that keepalived reads", async () => {
        const label = [add("/metadata/labels", { a: "b" })];
        await vi.waitFor(async () => expect((await patch(VIPS, label))[0]).toBe(422), 30_000);
        const refused = [
          [label, "nothing of the ConfigMap but"],
          [[add("/metadata/annotations/example.com~1by", "us")], "no annotation but"],
          [[{ op: "remove", path: "/metadata/annotations/example.com~1by" }], "no annotation but"],
          [[add("/metadata/finalizers", ["example.com/a"])], "nothing of the ConfigMap but"],
          [[add("/immutable", true)], "nothing of the ConfigMap but"],
        ] as const;
        for (const [body, says] of refused)
          expect(await patch(VIPS, body)).toEqual([422, expect.stringContaining(says)]);
        expect(await patch(VIPS, [add("/data/10.210.0.9", "a/b")])).toEqual([200, ""]);
        const other = "/api/v1/namespaces/kube-system/configmaps/serverless-ccm";
        expect((await patch(other, [add("/data", {})]))[0]).toBe(403);
      });
    });

    describe("kube-vip", () => {
      const { stage, get, merge, patch, settled, usedRights } = staged(createKubeVipWorld);
      const written = async () => {
        const { metadata, spec } = await get(SERVICE);
        const { [ADDRESSES_ANNOTATION]: addresses, [CHOSEN_ANNOTATION]: chosen } = metadata.annotations ?? {};
        return [addresses, chosen, metadata.labels?.["implementation"], spec.loadBalancerIP];
      };

      test("an address is written, its status is kube-vip's, another one is named, and it is given back with the type", async () => {
        const { objects, world, invoke } = stage();
        await objects.create(buildService(world));
        await settled();
        expect(await written()).toEqual(["10.210.0.2", "10.210.0.2", "kube-vip", "10.210.0.2"]);
        const status = { status: { loadBalancer: { ingress: [{ ip: "10.210.0.2", ipMode: "VIP" }] } } };
        await merge(`${SERVICE}/status`, status);
        await settled();
        expect((await invoke({ reason: "refresh" })).report?.outcome).toBe("unchanged");
        expect((await objects.read())?.status?.loadBalancer?.ingress).toEqual([
          { ip: "10.210.0.2", ipMode: "VIP" },
        ]);

        await objects.merge({ spec: { loadBalancerIP: "10.210.0.77" } });
        await settled();
        expect(await written()).toEqual(["10.210.0.77", undefined, "kube-vip", "10.210.0.77"]);
        await objects.merge({
          metadata: { annotations: { [ADDRESSES_ANNOTATION]: null } },
          spec: { loadBalancerIP: null },
        });
        await settled();
        expect(await written()).toEqual(["10.210.0.2", "10.210.0.2", "kube-vip", "10.210.0.2"]);

        await objects.merge({ spec: { type: "ClusterIP" } });
        await settled();
        expect(await written()).toEqual([undefined, undefined, undefined, undefined]);
        await objects.delete();
        expect(await objects.read()).toBeUndefined();
      });

      test("two functions that choose the same address end with different ones", async () => {
        const { objects, world, invoke } = stage();
        for (const name of ["web", "api"]) await objects.create(buildService(world, { name }));
        // Each as a separate process, at the same time.
        await Promise.all([invoke({ names: ["web"] }), invoke({ names: ["api"] })]);
        expect((await settle(stage(), { cloud: {}, names: ["web", "api"] })).issues).toEqual([]);
        const of = async (name: string) =>
          (await get(`/api/v1/namespaces/default/services/${name}`)).metadata.annotations[
            ADDRESSES_ANNOTATION
          ];
        expect(new Set([await of("web"), await of("api")]).size).toBe(2);
      });

      test("its rights are those that are granted", async () => {
        await stage().objects.create(buildService(stage().world));
        await settled();
        expect(await usedRights()).toEqual(
          expect.arrayContaining([
            "get configmaps",
            "list services",
            "patch services",
            "patch services/status",
          ]),
        );
        expect(await usedRights()).not.toContain("patch configmaps");
      });

      test.runIf(hasPolicies)("writes only the fields of a Service that kube-vip reads", async () => {
        await stage().objects.create(buildService(stage().world));
        const label = [add("/metadata/labels", { a: "b" })];
        await vi.waitFor(async () => expect((await patch(SERVICE, label))[0]).toBe(422), 30_000);
        const refused = [
          [label, "neither owners nor labels but"],
          [[add("/metadata/annotations", { "example.com/a": "b" })], "no annotation but"],
          [[add("/metadata/finalizers", ["example.com/a"])], "no finalizer but"],
          [[add("/spec/type", "NodePort")], "nothing of the spec but"],
          [[add("/spec/ports/0/port", 81)], "nothing of the spec but"],
          [[add("/spec/selector", { a: "b" })], "nothing of the spec but"],
          [[add("/spec/externalIPs", ["192.0.2.1"])], "nothing of the spec but"],
          [[add("/spec/loadBalancerSourceRanges", ["192.0.2.0/24"])], "nothing of the spec but"],
          [[add("/spec/externalTrafficPolicy", "Local")], "nothing of the spec but"],
          [[add("/spec/sessionAffinity", "ClientIP")], "nothing of the spec but"],
        ] as const;
        for (const [body, says] of refused)
          expect([body, await patch(SERVICE, body)]).toEqual([body, [422, expect.stringContaining(says)]]);
        const allowed = [
          add("/spec/loadBalancerIP", "10.210.0.9"),
          add("/metadata/labels", { implementation: "kube-vip" }),
          add("/metadata/annotations", {
            [ADDRESSES_ANNOTATION]: "10.210.0.9",
            [CHOSEN_ANNOTATION]: "10.210.0.9",
          }),
        ];
        expect(await patch(SERVICE, allowed)).toEqual([200, ""]);
        expect(
          (await patch("/api/v1/namespaces/kube-system/configmaps/kubevip", [add("/data", {})]))[0],
        ).toBe(403);
      });
    });
  });
}
