// The yardstick of what a function loads: EC2's client with the commands that the node function sends.
export {
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  EC2Client,
} from "@aws-sdk/client-ec2";
