import { describe, expect, test } from "vitest";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  KilledError,
  NAME,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { CERTIFICATES, type FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const [USABLE = ""] = CERTIFICATES;
const GONE = "arn:aws:acm:eu-central-1:123456789012:certificate/gone";
const settings = buildSettings({
  allow: { securityGroups: [], subnets: [], elasticIPs: [], certificates: [USABLE, GONE], buckets: [] },
});
const HTTP = { name: "http", port: 80, nodePort: 30_080 };
const HTTPS = { name: "https", port: 443, nodePort: 30_443 };

/** Formats the load balancer's listeners, sorted by port. */
function listListeners(elb: FakeElb): readonly string[] {
  const { ListenerDescriptions: descriptions = [] } = elb.classics.get(NAME)?.loadBalancer ?? {};
  return descriptions
    .map(({ Listener: listener }) => `${listener?.LoadBalancerPort} ${listener?.Protocol}`)
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
}

/** Builds the question for ports, and the certificate of some of them. */
function ask(ports: readonly object[], certificate?: string, tlsPorts = "443") {
  const annotations = certificate === undefined ? {} : { "ssl-cert": certificate, "ssl-ports": tlsPorts };
  return buildQuestion({ spec: { ports }, annotations: buildAnnotations(annotations) });
}

describe("a certificate that AWS rejects", () => {
  test.each([
    ["takes no listener away", ask([HTTP, HTTPS], GONE), ["80 TCP", "443 TCP"]],
    [
      "holds no port without it back",
      ask([{ ...HTTP, nodePort: 30_081 }, HTTPS, { name: "new", port: 8_080, nodePort: 30_808 }], GONE),
      ["80 TCP", "443 TCP", "8080 TCP"],
    ],
    ["keeps no port that is no longer requested", ask([HTTPS], GONE), ["443 TCP"]],
    ["takes no listener away if all get it", ask([HTTP, HTTPS], GONE, "80,443"), ["80 TCP", "443 TCP"]],
  ])("%s", (_, asked, expected) => {
    const elb = createClassicWorld();
    converge(elb, ask([HTTP, HTTPS]));
    for (let run = 0; run < 2; run += 1) {
      expect(() => converge(elb, asked, { settings })).toThrow("CertificateNotFound");
      expect(listListeners(elb)).toEqual(expected);
    }
    converge(elb, ask([HTTP, HTTPS]));
    expect(listListeners(elb)).toEqual(["80 TCP", "443 TCP"]);
  });

  test("takes no listener with another certificate away", () => {
    const elb = createClassicWorld();
    converge(elb, ask([HTTP, HTTPS], USABLE), { settings });
    const asked = ask([HTTP, { ...HTTPS, nodePort: 30_444 }], GONE);
    expect(() => converge(elb, asked, { settings })).toThrow("CertificateNotFound");
    expect(listListeners(elb)).toEqual(["80 TCP", "443 SSL"]);
  });
});

describe("a port that gets a certificate", () => {
  test("has a listener again after any interruption, and no other port has one", () => {
    for (let actions = 0; ; actions += 1) {
      const elb = createClassicWorld();
      converge(elb, ask([HTTP, HTTPS]));
      const asked = ask([HTTP, HTTPS], USABLE);
      try {
        converge(elb, asked, { settings, actions });
        expect(actions).toBeGreaterThan(3);
        break;
      } catch (error) {
        if (!(error instanceof KilledError)) throw error;
      }
      expect(converge(elb, asked, { settings })).toMatchObject({ kind: "settled" });
      expect(listListeners(elb)).toEqual(["80 TCP", "443 SSL"]);
    }
  });

  test("needs no further listener if another port uses the certificate", () => {
    const elb = createClassicWorld();
    converge(elb, ask([HTTP, HTTPS], USABLE), { settings });
    elb.done.length = 0;
    converge(elb, ask([HTTP, HTTPS], USABLE, "80,443"), { settings });
    expect(elb.done).toEqual(["elb:DeleteLoadBalancerListeners", "elb:CreateLoadBalancerListeners"]);
    expect(listListeners(elb)).toEqual(["80 SSL", "443 SSL"]);
  });
});
