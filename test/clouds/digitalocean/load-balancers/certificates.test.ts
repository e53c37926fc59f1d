import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digitalOceanLoadBalancerModel as model } from "#clouds/digitalocean/load-balancers/model.ts";
import type { FakeCertificate } from "#emulators/digitalocean/certificates.ts";
import { buildCall } from "#test/clouds/builders.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
  PREFIX,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const FIRST = "892071a0-bb95-49bc-8021-3afd67a210b1";
const SECOND = "892071a0-bb95-49bc-8021-3afd67a210b2";
const LOST = "892071a0-bb95-49bc-8021-3afd67a210b9";

const used = () =>
  [...world.fake.loadBalancers.values()].flatMap(({ forwarding_rules: rules }) =>
    rules.filter(({ entry_protocol: entry }) => entry === "https").map((rule) => rule.certificate_id),
  );

test("a token that may not read certificates rejects the Service, and its droplets still follow the nodes", async () => {
  const droplets = [world.fake.add(), world.fake.add()];
  world.fake.addCertificate({ id: FIRST, name: "web" });
  const settings = buildSettings({ allow: { certificates: ["*"] } });
  const asked = buildService({ annotations: { type: "REGIONAL", "certificate-id": FIRST } });
  const made = await converge(world.cloud(), settings, asked, { nodes: buildNodes(droplets.slice(0, 1)) });
  world.pass(20_000);
  world.fake.fault = ({ path }) =>
    path.startsWith("/v2/certificates")
      ? { status: 403, body: JSON.stringify({ id: "forbidden", message: "missing scope" }) }
      : undefined;
  const nodes = buildNodes(droplets);
  const { last } = await converge(world.cloud(), settings, made.service, { nodes });
  expect(last).toMatchObject({ kind: "refused", issue: { code: "CertificateNotUsable" } });
  const question = { service: made.service, wanted: true, nodes, onlyTargets: true } as const;
  const answers = await world.cloud().capabilities?.["loadBalancers"]?.observe([question], buildCall());
  const [answer] = answers?.answers ?? [];
  if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
  expect(model.followNodes?.(question, answer.state, settings)).toMatchObject([
    { action: "AddDroplets", parameters: { dropletIds: [droplets[1]?.id.toString()] } },
  ]);
});

describe("a certificate by annotation", () => {
  const rows = [
    {
      title: "by ID, allowed by name",
      annotations: { "certificate-id": FIRST },
      allow: ["web"],
      uses: FIRST,
    },
    { title: "by ID, allowed by ID", annotations: { "certificate-id": FIRST }, allow: [FIRST], uses: FIRST },
    {
      title: "by name, allowed by a prefix",
      annotations: { "certificate-name": "web" },
      allow: ["we*"],
      uses: FIRST,
    },
    {
      title: "by ID and name: the ID has priority",
      annotations: { "certificate-id": SECOND, "certificate-name": "web" },
      allow: ["*"],
      uses: SECOND,
    },
    {
      title: "by ID, not allowed",
      annotations: { "certificate-id": FIRST },
      allow: ["shop"],
      uses: undefined,
    },
    { title: "by name, not allowed", annotations: { "certificate-name": "web" }, allow: [], uses: undefined },
    {
      title: "by a missing ID",
      annotations: { "certificate-id": LOST },
      allow: ["*"],
      uses: undefined,
    },
    {
      title: "by a missing name",
      annotations: { "certificate-name": "none" },
      allow: ["*"],
      uses: undefined,
    },
  ];
  test.for(rows)("$title", async ({ annotations, allow, uses }) => {
    world.fake.addCertificate({ id: FIRST, name: "web" });
    world.fake.addCertificate({ id: SECOND, name: "shop", type: "custom" });
    const settings = buildSettings({ allow: { certificates: allow } });
    const service = buildService({
      annotations: { type: "REGIONAL", ...annotations } as Record<string, string>,
    });
    const { last } = await converge(world.cloud(), settings, service, {
      nodes: buildNodes([world.fake.add()]),
    });
    expect(last).toMatchObject(
      uses === undefined
        ? {
            kind: "refused",
            issue: { code: "CertificateNotUsable", field: `${PREFIX}${Object.keys(annotations)[0]}` },
          }
        : { kind: "settled" },
    );
    expect(used()).toEqual(uses === undefined ? [] : [uses]);
  });

  test("a network load balancer uses no certificate, and sends no request for one", async () => {
    const service = buildService({ annotations: { "certificate-id": LOST } });
    const { last } = await converge(world.cloud(), buildSettings(), service, {
      nodes: buildNodes([world.fake.add()]),
    });
    expect(last).toMatchObject({ kind: "settled" });
    expect(used()).toEqual([]);
  });
});

describe("the load balancer uses another certificate than the annotation names", () => {
  interface Row {
    readonly title: string;
    readonly named?: Partial<FakeCertificate>;
    readonly shown: Partial<FakeCertificate>;
    /** The certificate that the annotation names and the load balancer uses in the end. */
    readonly ends: "named" | "shown" | "refused";
    readonly allow?: readonly string[];
  }
  const rows: readonly Row[] = [
    { title: "the old one is gone: the renewed one stays", shown: { name: "web" }, ends: "shown" },
    {
      title: "the old one still exists: the renewed one stays",
      named: { name: "web" },
      shown: { name: "web" },
      ends: "shown",
    },
    {
      title: "the annotation was changed: its certificate is used",
      named: { name: "shop" },
      shown: { name: "web" },
      ends: "named",
    },
    {
      title: "the other one is not a renewal: the annotation's certificate is used",
      named: { name: "web" },
      shown: { name: "web", type: "custom" },
      ends: "named",
    },
    {
      title: "the other one is not a renewal and the old one is gone: rejected",
      shown: { name: "web", type: "custom" },
      ends: "refused",
    },
    {
      title: "the renewed one has a name that is not allowed: rejected",
      shown: { name: "web" },
      ends: "refused",
      allow: ["shop"],
    },
  ];
  test.for(rows)("$title", async ({ named, shown, ends, allow = ["*"] }) => {
    const nodes = buildNodes([world.fake.add()]);
    world.fake.addCertificate({ id: FIRST, name: "web", type: "lets_encrypt" });
    const asked = buildService({ annotations: { type: "REGIONAL", "certificate-id": FIRST } });
    const made = await converge(world.cloud(), buildSettings({ allow: { certificates: ["*"] } }), asked, {
      nodes,
    });
    if (named === undefined) world.fake.certificates.delete(FIRST);
    else world.fake.addCertificate({ id: FIRST, type: "lets_encrypt", ...named });
    world.fake.addCertificate({ id: SECOND, type: "lets_encrypt", ...shown });
    for (const { forwarding_rules: rules } of world.fake.loadBalancers.values())
      for (const rule of rules) if (rule.certificate_id !== "") rule.certificate_id = SECOND;
    const settings = buildSettings({ allow: { certificates: allow } });
    const { last, service } = await converge(world.cloud(), settings, made.service, { nodes });
    const annotation = service.metadata.annotations?.[`${PREFIX}certificate-id`];
    expect(last.kind).toBe(ends === "refused" ? "refused" : "settled");
    expect(annotation).toBe(ends === "shown" ? SECOND : FIRST);
    expect(used()).toEqual([ends === "named" ? FIRST : SECOND]);
  });
});
