// The same work by ARX: java -cp ARX.jar Arx.java TABLE.csv K
//
// Every column is a key whose values are kept or left out. Prints the seconds until the k-anonymous table is there.

import java.nio.charset.StandardCharsets;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.AttributeType.Hierarchy.DefaultHierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;

public class Arx {
    public static void main(String[] given) throws Exception {
        Data data = Data.create(given[0], StandardCharsets.UTF_8, ',');
        DataHandle handle = data.getHandle();
        for (int column = 0; column < handle.getNumColumns(); column++) {
            DefaultHierarchy levels = Hierarchy.create();
            for (String value : handle.getDistinctValues(column)) {
                levels.add(value, "*");
            }
            data.getDefinition().setAttributeType(handle.getAttributeName(column), levels);
        }
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(Integer.parseInt(given[1])));
        asked.setSuppressionLimit(1d);
        long begin = System.nanoTime();
        new ARXAnonymizer().anonymize(data, asked).getOutput();
        System.out.println((System.nanoTime() - begin) / 1e9);
    }
}
