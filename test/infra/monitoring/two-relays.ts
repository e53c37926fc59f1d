import type { Series } from "#test/infra/monitoring/record-series.ts";

/** What Prometheus adds to each series of a pod that it finds by a ServiceMonitor, but for its instance and pod. */
export const DEPLOYMENT = { namespace: "serverless-ccm", job: "serverless-ccm-relay" } as const;

/** The same for one pod of the Deployment. */
export function podTarget(letter: string): Readonly<Record<string, string>> {
  return { ...DEPLOYMENT, pod: `serverless-ccm-relay-${letter}`, instance: `${letter}:10258` };
}

/** Returns what Prometheus has when it scrapes `first` of one pod of a Deployment and `second` of the other. */
export function scrapedOfTwo(first: readonly Series[], second: readonly Series[]): readonly Series[] {
  return [
    ...first.map((each) => withLabels(each, podTarget("a"))),
    ...second.map((each) => withLabels(each, podTarget("b"))),
  ];
}

/** Adds labels of a target to a series. */
function withLabels({ series, values }: Series, labels: Readonly<Record<string, string>>): Series {
  const [, name = "", own = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const added = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return { series: `${name}{${[...(own === "" ? [] : [own]), ...added].join(",")}}`, values };
}
