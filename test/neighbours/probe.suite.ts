import { mkdtemp } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { endOf, readPrograms, startNeighbourhood } from "#test/neighbours/neighbourhood.ts";

test("probe", async () => {
  const folder = await mkdtemp("/tmp/nb-probe-");
  const n = await startNeighbourhood(readPrograms(), folder);
  console.log(folder);
  try {
    const running = await n.run();
    await running.line("Serving");
    const forms = (i: number) =>
      [undefined, `10.77.0.${i}`, `fd77::${i}`, `10.77.0.${i},fd77::${i}`, "0.0.0.0", "::"][i % 6];
    for (let i = 1; i <= 6; i++) await n.join(i, forms(i));
    for (let k = 0; k < 4; k++) {
      await sleep(10_000);
      const nodes = (await n.ask({ method: "GET", path: "/api/v1/nodes" })) as any;
      for (const i of nodes.items)
        console.log(
          i.metadata.name,
          JSON.stringify(i.spec),
          JSON.stringify(i.status.addresses),
          JSON.stringify(i.metadata.annotations),
          i.status.conditions.map((c: any) => c.type + c.status + c.reason).join(),
        );
      const csrs = (await n.ask({
        method: "GET",
        path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
      })) as any;
      for (const i of csrs.items)
        console.log(
          i.metadata.name,
          i.spec.username,
          i.spec.signerName,
          JSON.stringify(i.status.conditions?.map((c: any) => [c.type, c.reason, c.message])),
          i.status.certificate?.length,
        );
    }
    console.log(JSON.stringify(running.lines.slice(0, 60), undefined, 0));
    for (const k of n.kubelets.values()) console.log(await endOf(k.logFile));
    console.log(n.controllerManager.output());
    console.log(
      (await n.plane.record())
        .filter((r) => r.user.startsWith("serverless-ccm-functions"))
        .map((r) => `${r.verb} ${r.resource} ${r.subresource} ${r.name} ${r.code}`)
        .join("\n"),
    );
  } finally {
    await n.close();
  }
}, 120_000);
